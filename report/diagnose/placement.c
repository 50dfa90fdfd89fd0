/* Finds that ranks which exchange many bytes are on different nodes, while another order of the same places would keep
 * many of these bytes inside nodes. The partitioner of `replay --best-placement` makes that order, from bytes alone. */
#include <math.h>
#include <stdlib.h>

#include "predictor/what_if/places.h"
#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Least share of messages between nodes in all ranks' time, and of their bytes that must stay inside with another
 * order. */
#define PLACEMENT_LEAST_SHARE 0.05
#define LEAST_SAVED           0.25

/* Most ranks and pairs, for the partitioner to be done at once. */
enum { MOST_RANKS = 512, PLACEMENT_MOST_PAIRS = 20000 };

/* Fills the places of ranks 0 .. n - 1; *known becomes false where one is not. */
static int read_recorded_placement(struct diagnosis *diagnosis, struct placement *slots, bool *known)
{
    struct cursor rows;
    size_t n = 0, nodes = 0;
    cursor_open(
        &rows, diagnosis->database, diagnosis->path,
        "SELECT rank, coalesce(node, -1), (SELECT count(DISTINCT node) FROM process) FROM process ORDER BY rank",
        diagnosis->error);
    while (cursor_next(&rows)) {
        int64_t node = cursor_integer(&rows, 1);
        nodes = (size_t)cursor_integer(&rows, 2);
        if (n >= slots->n_ranks || cursor_integer(&rows, 0) != (int64_t)n || node < 0 || node > INT32_MAX)
            *known = false;
        else
            slots->node[n] = (uint32_t)node;
        n++;
    }
    *known = *known && n == slots->n_ranks && nodes >= 2;
    return cursor_close(&rows);
}

static int compare_placed_ranks(const void *left, const void *right)
{
    const struct rank_pair *a = *(const struct rank_pair *const *)left, *b = *(const struct rank_pair *const *)right;
    return ORDER(a->src, b->src) ?: ORDER(a->dst, b->dst);
}

/* Sums the bytes of every pair into pairs[sums->n_rank_pairs], and returns how many there are; *between_s: what
 * messages between nodes took once both sides were there. */
static size_t sum_traffic(const struct pair_sums *sums, struct rank_bytes *pairs, double *between_s)
{
    const struct rank_pair **order = xcalloc(sums->n_rank_pairs + 1, sizeof *order);
    size_t n = 0;
    for (size_t i = 0; i < sums->n_rank_pairs; i++)
        order[i] = &sums->rank_pairs[i];
    qsort(order, sums->n_rank_pairs, sizeof *order, compare_placed_ranks);
    for (size_t i = 0; i < sums->n_rank_pairs; i++) {
        if (i == 0 || compare_placed_ranks(&order[i - 1], &order[i]) != 0)
            pairs[n++] = (struct rank_bytes){.a = order[i]->src, .b = order[i]->dst};
        pairs[n - 1].bytes += order[i]->bytes;
        *between_s += order[i]->between_ns * 1e-9;
    }
    free(order);
    return n;
}

static double between_nodes(const struct rank_bytes *pairs, size_t n_pairs, const struct placement *placement)
{
    double bytes = 0;
    for (size_t i = 0; i < n_pairs; i++)
        if (placement->node[pairs[i].a] != placement->node[pairs[i].b])
            bytes += pairs[i].bytes;
    return bytes;
}

static int map_and_add(struct diagnosis *diagnosis, const struct rank_bytes *pairs, size_t n_pairs,
                       const struct placement *slots, double between_s)
{
    struct placement mapped = {0};
    double now = between_nodes(pairs, n_pairs, slots);
    if (!(now > 0))
        return 0;
    placement_init(&mapped, slots->n_ranks);
    int result = placement_map(pairs, n_pairs, slots, 1, &mapped, diagnosis->error);
    double then = result == 0 ? between_nodes(pairs, n_pairs, &mapped) : now, saved = (now - then) / now;
    placement_release(&mapped);
    if (result != 0 || saved < LEAST_SAVED)
        return result;
    struct finding finding = diagnosis_finding(FINDING_PLACEMENT, fmin(between_s, diagnosis->all_s) * saved);
    char now_text[DIAGNOSIS_TEXT], then_text[DIAGNOSIS_TEXT];
    return diagnosis_add(diagnosis, finding,
                         "partners are on different nodes: %s go between nodes, %s with the ranks in another order; "
                         "mpistair replay --best-placement looks for one",
                         diagnosis_bytes(now_text, now), diagnosis_bytes(then_text, then));
}

int diagnose_placement(struct diagnosis *diagnosis)
{
    size_t n_ranks = diagnosis->program.n_ranks;
    struct placement slots = {0};
    double between_s = 0;
    bool known = true;
    if (n_ranks < 2 || n_ranks > MOST_RANKS || !placement_map_is_built())
        return 0;
    struct rank_bytes *pairs = xmalloc((diagnosis->pairs->n_rank_pairs + 1) * sizeof *pairs);
    placement_init(&slots, n_ranks);
    int result = read_recorded_placement(diagnosis, &slots, &known);
    size_t n = result == 0 && known ? sum_traffic(diagnosis->pairs, pairs, &between_s) : 0;
    if (n > 0 && n <= PLACEMENT_MOST_PAIRS && between_s >= PLACEMENT_LEAST_SHARE * diagnosis->all_s)
        result = map_and_add(diagnosis, pairs, n, &slots, between_s);
    free(pairs);
    placement_release(&slots);
    return result;
}
