/* Measures network contention by the line test of B section 4.2 (Fig. 6): many messages (B Algorithm 1) go from all
 * processes of a node to the corresponding ones of another, for several pairs of nodes whose traffic crosses one link.
 *
 * Only the user knows which pairs of nodes share a link: --link 0-2,1-3, nodes numbered by their first rank; the first
 * of a pair sends. Variant `shared` takes all pairs of nodes at once; `alone` takes each of them for itself. n counts
 * the pairs of processes that are active, count the messages of a process. All start together on the common clock. The
 * seconds last from there until the last receiver has all, so that n * count * bytes, B's l (B5), crosses the link in
 * that time.
 *
 * It is one way of B's ping-pong, not half of both: processes whose messages got through first turn round first, and
 * the two directions of the link overlap; a link of 23.9 MB/s then seemed to carry up to 35. A sample should not take
 * longer than SAMPLE_S, on any network: what may cross the link in that time is found before the list is made. Papers
 * are named as in share/doc/MODELS.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/error.h"
#include "calibrate/benchmark/benchmarks.h"
#include "share/base/memory.h"

enum { NODE_PAIRS_MAX = 16, CONTENTION_COUNT_MAX = 64, COUNT_STEP = 4, SIZE_STEP = 4, PROBE_SAMPLES = 3 };

#define CONTENTION_BYTES_MIN 4096u
#define CONTENTION_BYTES_MAX 1048576u
#define CONTENTION_SAMPLE_S  0.25
#define PROBE_S              0.03 /* long enough to tell how fast the link is */

/* The process pairs of one pair of nodes, or of all of them. */
struct crossing {
    const char *variant;
    char name[16 * NODE_PAIRS_MAX];
    size_t n_pairs;
    struct pair *pairs; /* [n_pairs]; those of each pair of nodes behind each other */
};

static struct crossing contention_alone[NODE_PAIRS_MAX], contention_shared;
static size_t n_node_pairs;
static double bytes_across; /* bytes that may cross the link in one direction in one sample */

/* Finds the ranks of a node, the nodes numbered by first appearance: 0 or more, in ranks[n_ranks] ascending. */
static size_t ranks_of(const struct placement *placement, unsigned long node, int *ranks)
{
    size_t n = 0, n_nodes = 0;
    for (size_t i = 0; i < placement->n_ranks; i++) {
        bool first = n == 0;
        for (size_t j = 0; j < i && first; j++)
            first = placement->node[j] != placement->node[i];
        if (n > 0 ? placement->node[i] == placement->node[ranks[0]] : first && n_nodes++ == node)
            ranks[n++] = (int)i;
    }
    return n;
}

/* Pairs the ranks of nodes[2]. Returns 0, or -1 with the reason. */
static int pair_nodes(const struct placement *placement, const unsigned long nodes[2], struct crossing *crossing,
                      struct error *error)
{
    int *ranks[2] = {xcalloc(placement->n_ranks, sizeof **ranks), xcalloc(placement->n_ranks, sizeof **ranks)};
    crossing->pairs = xcalloc(placement->n_ranks, sizeof *crossing->pairs);
    int result = 0;
    size_t n[2] = {0, 0};
    for (int side = 0; side < 2 && result == 0; side++) {
        n[side] = ranks_of(placement, nodes[side], ranks[side]);
        if (n[side] == 0)
            result = error_set(error, "node %lu is not in this job: nodes are numbered from 0 by their first rank",
                               nodes[side]);
    }
    if (result == 0) {
        crossing->n_pairs = n[0] < n[1] ? n[0] : n[1];
        for (size_t i = 0; i < crossing->n_pairs; i++)
            crossing->pairs[i] = (struct pair){ranks[0][i], ranks[1][i]};
        crossing->variant = "alone";
        snprintf(crossing->name, sizeof crossing->name, "node%lu-%lu", nodes[0], nodes[1]);
    }
    free(ranks[0]);
    free(ranks[1]);
    return result;
}

/* Reads the next A-B of a list, to its end or behind its comma; returns NULL if it is none. */
static const char *next_pair(const char *text, unsigned long nodes[2])
{
    char *end = NULL;
    for (int side = 0; side < 2; side++) {
        if (*text < '0' || *text > '9')
            return NULL;
        nodes[side] = strtoul(text, &end, 10);
        if (*end != (side == 0 ? '-' : ',') && (side == 0 || *end != '\0'))
            return NULL;
        text = end + (*end != '\0');
    }
    return *end == ',' && *text == '\0' ? NULL : text;
}

static int read_link(const struct measure *measure, struct error *error)
{
    unsigned long seen[2 * NODE_PAIRS_MAX];
    const char *text = measure->link;
    while (*text != '\0') {
        unsigned long nodes[2];
        if (n_node_pairs == NODE_PAIRS_MAX)
            return error_set(error, "more than %d pairs of nodes", NODE_PAIRS_MAX);
        text = next_pair(text, nodes);
        if (text == NULL)
            return error_set(error, "expected pairs of nodes as 0-2,1-3");
        for (int side = 0; side < 2; side++) {
            size_t n_seen = 2 * n_node_pairs + (size_t)side;
            seen[n_seen] = nodes[side];
            for (size_t i = 0; i < n_seen; i++)
                if (seen[i] == nodes[side])
                    return error_set(error, "node %lu appears twice", nodes[side]);
        }
        if (pair_nodes(&measure->placement, nodes, &contention_alone[n_node_pairs++], error) != 0)
            return -1;
    }
    return n_node_pairs >= 2 ? 0 : error_set(error, "expected two pairs of nodes or more, as 0-2,1-3");
}

/* Checks on every rank whether --link names nodes of this job. */
static int contention_prepare(struct measure *measure, bool speak)
{
    struct error error;
    if (measure->link == NULL) {
        if (speak)
            fprintf(stderr, "mpistair: contention: which pairs of nodes share a link? Expected --link, as in --link "
                            "0-2,1-3: what node 0 sends to 2 and node 1 to 3 crosses the same link\n");
        return EXIT_WRONG_USAGE;
    }
    if (read_link(measure, &error) == 0)
        return 0;
    if (speak)
        fprintf(stderr, "mpistair: contention: --link %s: %s\n", measure->link, error.text);
    return EXIT_WRONG_USAGE;
}

static void join_crossings(void)
{
    contention_shared.variant = "shared";
    for (size_t i = 0; i < n_node_pairs; i++)
        contention_shared.n_pairs += contention_alone[i].n_pairs;
    contention_shared.pairs = xcalloc(contention_shared.n_pairs, sizeof *contention_shared.pairs);
    size_t n = 0, length = 0;
    for (size_t i = 0; i < n_node_pairs; i++) {
        memcpy(&contention_shared.pairs[n], contention_alone[i].pairs,
               contention_alone[i].n_pairs * sizeof *contention_shared.pairs);
        n += contention_alone[i].n_pairs;
        int added = snprintf(contention_shared.name + length, sizeof contention_shared.name - length, "%s%s",
                             i > 0 ? "+" : "", contention_alone[i].name);
        length += (size_t)added < sizeof contention_shared.name - length ? (size_t)added : 0;
    }
}

static struct item make_item(const struct crossing *crossing, uint64_t bytes, int count)
{
    return (struct item){
        .level = LEVEL_INTER_NODE,
        .variant = crossing->variant,
        .n = crossing->n_pairs,
        .bytes = bytes,
        .count = count,
        .repeats = 1,
        .n_pairs = crossing->n_pairs,
        .pairs = crossing->pairs,
        .ranks = crossing->name,
    };
}

/* Lists the sizes and counts whose bytes may cross the link in a sample, and fit in a process's buffer. */
static void contention_list(const struct measure *measure, struct item_list *list)
{
    for (uint64_t bytes = CONTENTION_BYTES_MIN; bytes <= CONTENTION_BYTES_MAX; bytes *= SIZE_STEP)
        for (int count = 1; count <= CONTENTION_COUNT_MAX; count *= COUNT_STEP) {
            uint64_t of_process = bytes * (uint64_t)count;
            if ((double)(of_process * contention_shared.n_pairs) > bytes_across || of_process > measure->buffer_bytes)
                continue;
            item_add(list, make_item(&contention_shared, bytes, count));
            for (size_t i = 0; i < n_node_pairs; i++)
                item_add(list, make_item(&contention_alone[i], bytes, count));
        }
}

/* Returns the fastest of a few samples, the first of which opens connections; 0 where none started in time. */
static double probe_once(struct measure *measure, uint64_t bytes)
{
    struct item item = make_item(&contention_shared, bytes, COUNT_STEP);
    double fastest_s = 0;
    for (int i = 0; i < PROBE_SAMPLES; i++) {
        double seconds = measure_once(measure, &item);
        if (seconds > 0 && (!(fastest_s > 0) || seconds < fastest_s))
            fastest_s = seconds;
    }
    return fastest_s;
}

/* Sends four times as many bytes each time, until it lasts long enough to tell the link's rate. */
static void contention_probe(struct measure *measure)
{
    double seconds = 0, across = 0;
    for (uint64_t bytes = CONTENTION_BYTES_MIN; bytes <= CONTENTION_BYTES_MAX && seconds < PROBE_S;
         bytes *= SIZE_STEP) {
        if (bytes * COUNT_STEP > measure->buffer_bytes)
            break;
        double found = probe_once(measure, bytes);
        if (found > 0) {
            seconds = found;
            across = (double)(bytes * COUNT_STEP * contention_shared.n_pairs);
        }
    }
    bytes_across = seconds > 0 ? across * CONTENTION_SAMPLE_S / seconds
                               : (double)(CONTENTION_BYTES_MAX * contention_shared.n_pairs);
}

static void contention_lead(struct measure *measure)
{
    join_crossings();
    contention_probe(measure);
    schedule_lead(measure);
}

/* Makes one way of B Algorithm 1, with tags and posts in the same order on both sides. */
static double contention_exchange(struct measure *measure, const struct task *task)
{
    MPI_Request requests[CONTENTION_COUNT_MAX];
    MPI_Status statuses[CONTENTION_COUNT_MAX];
    size_t place, stride = measure_places(measure, task->bytes, task->count, &place);
    char *sent = measure->send_buffer + place, *received = measure->recv_buffer + place;
    int bytes = (int)task->bytes;
    double begin_s = clock_now_s();
    for (int i = 0; i < task->count; i++, sent += stride, received += stride)
        if (task->is_first)
            MPI_Isend(sent, bytes, MPI_BYTE, task->partner, i, measure->comm, &requests[i]);
        else
            MPI_Irecv(received, bytes, MPI_BYTE, task->partner, i, measure->comm, &requests[i]);
    MPI_Waitall(task->count, requests, statuses);
    return clock_now_s() - begin_s;
}

const struct benchmark_program contention_program = {
    .name = "contention",
    .summary = "Many messages between pairs of nodes that share a link (--link), alone and at the same time.",
    .prepare = contention_prepare,
    .list = contention_list,
    .lead = contention_lead,
    .exchange = contention_exchange,
};
