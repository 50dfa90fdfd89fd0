/* Finds nodes between which messages take longer than like ones between others: a slow link; and a node that sends, or
 * gets, most of what goes between nodes, so that all share its network card.
 *
 * A message takes from the later post of its two sides to the completion of its receive. Like messages are those of
 * other pairs of nodes whose sizes have the same power of two. That completion is the return of the call that reported
 * it, which may have waited for other messages, too, so the fastest tenths are compared. A link is one way: the other
 * way has its own pair. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"

#define LINK_LEAST_SHARE 0.05
#define LEAST_FACTOR     2.0

/* Least part of the way from an even share of the bytes between nodes to all of them. */
#define NODE_LEAST_UNEVEN 0.5

enum { LEAST_NODES_SHARING = 3, LEAST_PAIRS = 3, LINK_LEAST_MESSAGES = 4, MOST_FOUND = 3 };

struct node_pair {
    int64_t class, from, to;
    double n, fast_s;
    double cost_s, factor, like_s; /* cost 0: not slow */
};

struct node_pairs {
    struct node_pair *rows; /* [n] by class */
    size_t n;
    const char *at_switch; /* to which one end of each slow pair is attached, in the diagnosis's pool; "": none */
};

/* Returns what values[at] would be if values[n] were sorted, and orders them as far as that takes. */
static int64_t select_value(int64_t *values, size_t n, size_t at)
{
    size_t first = 0, end = n;
    while (end - first > 1) {
        int64_t middle = values[first + (end - first) / 2];
        size_t low = first, high = end;
        for (;; low++, high--) {
            while (values[low] < middle)
                low++;
            while (values[high - 1] > middle)
                high--;
            if (low + 1 >= high)
                break;
            int64_t value = values[low];
            values[low] = values[high - 1];
            values[high - 1] = value;
        }
        /* Left of low no value is larger than middle, from high on none is smaller. */
        if (at < low)
            end = low;
        else if (at >= high)
            first = high;
        else
            return middle;
    }
    return values[first];
}

static int compare_pairs(const void *left, const void *right)
{
    const struct node_pair *a = left, *b = right;
    return ORDER(a->class, b->class) ?: ORDER(a->from, b->from) ?: ORDER(a->to, b->to);
}

/* Takes the fastest tenth of each pair with messages enough. */
static void make_pairs(struct diagnosis *diagnosis, struct node_pairs *pairs)
{
    const struct pair_sums *sums = diagnosis->pairs;
    pairs->rows = xcalloc(sums->n_node_pairs, sizeof *pairs->rows);
    for (size_t i = 0; i < sums->n_node_pairs; i++) {
        const struct node_pair_times *times = &sums->node_pairs[i];
        if (times->n < LINK_LEAST_MESSAGES)
            continue;
        int64_t fast_ns = select_value(times->times_ns, times->n, (times->n + 9) / 10 - 1);
        pairs->rows[pairs->n++] = (struct node_pair){.class = times->class,
                                                     .from = times->from,
                                                     .to = times->to,
                                                     .n = (double)times->n,
                                                     .fast_s = (double)fast_ns * 1e-9};
    }
    qsort(pairs->rows, pairs->n, sizeof *pairs->rows, compare_pairs);
}

static int compare_times(const void *left, const void *right)
{
    const struct node_pair *a = left, *b = right;
    return ORDER(a->fast_s, b->fast_s);
}

/* Holds the pairs of a class, sorted by their times, each against the median of the others. */
static void judge_class(struct node_pair *rows, size_t n)
{
    qsort(rows, n, sizeof *rows, compare_times);
    for (size_t i = 0; n >= LEAST_PAIRS && i < n; i++) {
        size_t low = (n - 2) / 2, high = (n - 1) / 2; /* of n - 1 others */
        double like_s = (rows[low + (low >= i)].fast_s + rows[high + (high >= i)].fast_s) / 2;
        if (!(rows[i].fast_s >= LEAST_FACTOR * like_s))
            continue;
        rows[i].like_s = like_s;
        rows[i].factor = rows[i].fast_s / like_s;
        rows[i].cost_s = rows[i].n * (rows[i].fast_s - like_s);
    }
}

/* Names a node and its ranks: "node2 (rank 2)"; *rank becomes the lowest one. */
static int name_node(struct diagnosis *diagnosis, int64_t node, char *text, int64_t *rank)
{
    struct cursor rows;
    const char *host = "";
    int64_t last = -1, n = 0;
    *rank = -1;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT coalesce((SELECT host FROM node WHERE id = ?1), 'node ' || ?1), min(rank), max(rank), count(*) "
                "FROM process WHERE node = ?1",
                diagnosis->error);
    if (rows.result == 0)
        sqlite3_bind_int64(rows.statement, 1, node);
    if (cursor_next(&rows)) {
        host = cursor_text(&rows, 0, diagnosis->pool);
        *rank = cursor_integer(&rows, 1);
        last = cursor_integer(&rows, 2);
        n = cursor_integer(&rows, 3);
    }
    if (n == 1)
        snprintf(text, DIAGNOSIS_TEXT, "%s (rank %lld)", host, (long long)*rank);
    else
        snprintf(text, DIAGNOSIS_TEXT, "%s (%lld ranks from %lld to %lld)", host, (long long)n, (long long)*rank,
                 (long long)last);
    return cursor_close(&rows);
}

/* What is known of the nodes: switches[n_nodes], NULL for none. */
struct attached {
    const char **switches;
    size_t n_nodes;
};

static bool is_attached(const struct attached *attached, int64_t node, const char *to_switch)
{
    return node >= 0 && (size_t)node < attached->n_nodes && attached->switches[node] != NULL &&
           strcmp(attached->switches[node], to_switch) == 0;
}

/* Reads the switch to which each node is attached; switches is for free() in any case. */
static int read_attached(struct diagnosis *diagnosis, struct attached *attached)
{
    struct cursor rows;
    *attached = (struct attached){.n_nodes = diagnosis->pairs->n_nodes};
    attached->switches = xcalloc(attached->n_nodes, sizeof *attached->switches);
    cursor_open(&rows, diagnosis->database, diagnosis->path, "SELECT node, switch FROM node_switch WHERE level = 1",
                diagnosis->error);
    while (cursor_next(&rows)) {
        int64_t node = cursor_integer(&rows, 0);
        if (node >= 0 && (size_t)node < attached->n_nodes)
            attached->switches[node] = cursor_text(&rows, 1, diagnosis->pool);
    }
    return cursor_close(&rows);
}

/* Returns whether each slow pair has an end at the switch, of two nodes there at least, and one that is not slow has
 * none. */
static bool is_slow_switch(const struct node_pairs *pairs, const struct attached *attached, const char *wanted)
{
    int64_t one = -1;
    bool several = false, spared = false;
    for (size_t i = 0; i < pairs->n; i++) {
        const struct node_pair *pair = &pairs->rows[i];
        bool at_from = is_attached(attached, pair->from, wanted), at_to = is_attached(attached, pair->to, wanted);
        bool is_slow = pair->cost_s > 0;
        if (is_slow && !at_from && !at_to)
            return false;
        spared = spared || !(is_slow || at_from || at_to);
        if (is_slow) {
            int64_t node = at_from ? pair->from : pair->to;
            several = several || (one >= 0 && node != one) || (at_from && at_to);
            one = node;
        }
    }
    return several && spared;
}

/* Finds the switch at which all slow pairs have an end: where one end of the costliest one is. */
static int find_slow_switch(struct diagnosis *diagnosis, struct node_pairs *pairs)
{
    struct attached attached;
    const struct node_pair *worst = pairs->rows;
    pairs->at_switch = "";
    if (pairs->n == 0)
        return 0;
    int result = read_attached(diagnosis, &attached);
    for (size_t i = 1; i < pairs->n; i++)
        worst = pairs->rows[i].cost_s > worst->cost_s ? &pairs->rows[i] : worst;
    const int64_t ends[] = {worst->from, worst->to};
    for (size_t i = 0; worst->cost_s > 0 && i < 2 && pairs->at_switch[0] == '\0'; i++) {
        bool is_known = ends[i] >= 0 && (size_t)ends[i] < attached.n_nodes && attached.switches[ends[i]] != NULL;
        if (is_known && is_slow_switch(pairs, &attached, attached.switches[ends[i]]))
            pairs->at_switch = attached.switches[ends[i]];
    }
    free(attached.switches);
    return result;
}

/* Adds up what is slow between two nodes, of all sizes, and takes it out; the sentence names the costliest size. */
static int add_pair(struct diagnosis *diagnosis, struct node_pairs *pairs, const struct node_pair *worst)
{
    struct node_pair told = *worst;
    struct finding finding = diagnosis_finding(FINDING_SLOW_LINK, 0);
    char from[DIAGNOSIS_TEXT], to[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], like[DIAGNOSIS_TEXT];
    for (size_t i = 0; i < pairs->n; i++)
        if (pairs->rows[i].from == told.from && pairs->rows[i].to == told.to) {
            finding.cost_s += pairs->rows[i].cost_s;
            pairs->rows[i].cost_s = 0;
        }
    finding.cost_s = fmin(finding.cost_s, diagnosis->all_s);
    if (!(finding.cost_s >= LINK_LEAST_SHARE * diagnosis->all_s))
        return 0;
    if (name_node(diagnosis, told.from, from, &finding.rank) != 0 ||
        name_node(diagnosis, told.to, to, &finding.partner) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "messages from %s to %s take %s and more, %.1f times the %s of like ones between other nodes"
                         "%s%s",
                         from, to, diagnosis_seconds(took, told.fast_s), told.factor,
                         diagnosis_seconds(like, told.like_s),
                         pairs->at_switch[0] != '\0' ? "; all slow ones have an end at switch " : "", pairs->at_switch);
}

/* What leaves a node, or comes to it. */
struct node_use {
    double bytes, time_s;
};

/* Names the node through whose card most bytes go one way. */
static int find_busy_node(struct diagnosis *diagnosis, bool incoming)
{
    const struct pair_sums *sums = diagnosis->pairs;
    struct node_use *uses = xcalloc(sums->n_nodes, sizeof *uses), worst = {0};
    double all_bytes = 0, even = 1 / fmax((double)sums->n_nodes, 1);
    int64_t busy = 0;
    for (size_t i = 0; i < sums->n_rank_pairs; i++) {
        const struct rank_pair *pair = &sums->rank_pairs[i];
        int64_t from = sums->node[pair->src], to = sums->node[pair->dst], node = incoming ? to : from;
        if (from == to || node < 0 || (size_t)node >= sums->n_nodes)
            continue;
        all_bytes += pair->bytes;
        uses[node].bytes += pair->bytes;
        uses[node].time_s += pair->between_ns * 1e-9;
        busy = uses[node].bytes > uses[busy].bytes ? node : busy;
    }
    if (sums->n_nodes > 0)
        worst = uses[busy];
    free(uses);
    if (sums->n_nodes < LEAST_NODES_SHARING || worst.time_s < LINK_LEAST_SHARE * diagnosis->all_s ||
        !(worst.bytes >= (even + NODE_LEAST_UNEVEN * (1 - even)) * all_bytes))
        return 0;
    struct finding finding = diagnosis_finding(FINDING_BUSY_NODE, worst.time_s);
    char name[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT];
    if (name_node(diagnosis, busy, name, &finding.rank) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "%s %s %.0f %% of the bytes between %zu nodes, %s; these messages share its network card and "
                         "take %s",
                         name, incoming ? "gets" : "sends", 100 * worst.bytes / all_bytes, sums->n_nodes,
                         diagnosis_bytes(bytes, worst.bytes), diagnosis_seconds(took, worst.time_s));
}

int diagnose_slow_links(struct diagnosis *diagnosis)
{
    struct node_pairs pairs = {0};
    int result = find_busy_node(diagnosis, true);
    if (result == 0)
        result = find_busy_node(diagnosis, false);
    make_pairs(diagnosis, &pairs);
    for (size_t first = 0, end; first < pairs.n; first = end) {
        for (end = first; end < pairs.n && pairs.rows[end].class == pairs.rows[first].class;)
            end++;
        judge_class(&pairs.rows[first], end - first);
    }
    if (result == 0)
        result = find_slow_switch(diagnosis, &pairs);
    for (size_t found = 0; result == 0 && pairs.n > 0 && found < MOST_FOUND; found++) {
        const struct node_pair *worst = &pairs.rows[0];
        for (size_t i = 1; i < pairs.n; i++)
            worst = pairs.rows[i].cost_s > worst->cost_s ? &pairs.rows[i] : worst;
        if (worst->cost_s > 0)
            result = add_pair(diagnosis, &pairs, worst);
    }
    free(pairs.rows);
    return result;
}
