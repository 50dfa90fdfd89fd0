/* Finds what of its recorded computation was a rank's own. Where ranks outnumber processors, several compute on one at
 * the same time, and each one's computation lasts as long as all of them have it: it holds what the others computed. Of
 * such a time each has an equal part here. The replay lets them share a processor anew
 * (predictor/run/engine/run_cores.c). */
#include <stdlib.h>

#include "predictor/run_read/reading.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

/* Is how often ranks must have followed each other on a processor for that to be looked at. */
enum { LEAST_HANDOVERS = 100 };

/* Holds a begin or an end of a computation. */
struct edge {
    uint64_t core;
    int64_t at_ns;
    uint32_t computation;
    bool is_end;
};

static struct map_key key_of(const struct reading *reading, uint32_t rank)
{
    return (struct map_key){reading->program->ranks[rank].machine, 0, 0};
}

/* Counts ranks, or strands, one more on the machine of a rank at one time. */
static void count(const struct reading *reading, struct map *on_machine, uint32_t rank)
{
    uint32_t *n = map_at(on_machine, key_of(reading, rank));
    *n = *n == MAP_ABSENT ? 1 : *n + 1;
}

static bool is_crowded(const struct reading *reading, const struct map *on_machine, uint32_t rank)
{
    return map_find(on_machine, key_of(reading, rank)) > reading->program->ranks[rank].processors;
}

void computing_begin(struct reading *reading)
{
    for (uint32_t rank = 0; rank < reading->program->n_ranks; rank++)
        if (reading->program->ranks[rank].follows == 0)
            count(reading, &reading->ranks_on_machine, rank);
}

bool computing_is_shared(const struct reading *reading, uint32_t rank)
{
    return reading->program->ranks[rank].processors > 0 && is_crowded(reading, &reading->ranks_on_machine, rank);
}

int computing_note(struct reading *reading, const struct computing *computing)
{
    if (reading->n_computings >= UINT32_MAX / 2)
        return -1;
    ARRAY_ADD(reading->computings, reading->n_computings, *computing);
    return 0;
}

/* Orders by core and time, ends before begins. */
static int compare(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return ORDER(x->core, y->core) ?: ORDER(x->at_ns, y->at_ns) ?: y->is_end - x->is_end;
}

static void make_edges(const struct reading *reading, struct edge *edges)
{
    for (uint32_t i = 0; i < reading->n_computings; i++) {
        const struct computing *computing = &reading->computings[i];
        uint64_t core = (uint64_t)computing->machine << 16 | computing->processor;
        edges[2 * i] = (struct edge){core, computing->begin_ns, i, false};
        edges[2 * i + 1] = (struct edge){core, computing->end_ns, i, true};
    }
}

/* Goes along the edges, and gives each computation its part of the time between two. active: room for all. */
static void divide_computing(const struct edge *edges, size_t n, uint32_t *active, double *own_s)
{
    size_t n_active = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n_active; k++)
            own_s[active[k]] += reading_seconds(edges[i].at_ns - edges[i - 1].at_ns) / (double)n_active;
        if (!edges[i].is_end) {
            active[n_active++] = edges[i].computation;
            continue;
        }
        size_t k = 0;
        while (active[k] != edges[i].computation)
            k++;
        active[k] = active[--n_active];
    }
}

/* Returns what a processor takes from the computation of a rank to that of another one: of the times between two, in
 * which nobody computed, the one than which a twentieth are shorter. The longer ones hold waits and copies as well. */
static double handover_s(const struct reading *reading, const struct edge *edges, size_t n)
{
    double *between_s = xmalloc((n + 1) * sizeof *between_s);
    size_t n_between = 0, n_active = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        n_active += edges[i].is_end ? SIZE_MAX : 1;
        if (n_active == 0 && edges[i].core == edges[i + 1].core &&
            reading->computings[edges[i].computation].rank != reading->computings[edges[i + 1].computation].rank)
            between_s[n_between++] = reading_seconds(edges[i + 1].at_ns - edges[i].at_ns);
    }
    sort_doubles(between_s, n_between);
    double least_s = n_between >= LEAST_HANDOVERS ? between_s[n_between / 20] : 0;
    free(between_s);
    return least_s;
}

/* Says of whose computation what is known. */
static void mark_ranks(const struct reading *reading)
{
    struct run_program *program = reading->program;
    struct map strands_on_machine = {0};
    for (size_t s = 0; s < program->n_strands;) {
        uint32_t rank = program->strands[s].rank;
        uint32_t n = run_program_threads(program, &s) - (program->ranks[rank].follows > 0);
        for (; n > 0; n--)
            count(reading, &strands_on_machine, rank);
    }
    for (uint32_t rank = 0; rank < program->n_ranks; rank++)
        program->ranks[rank].own_computation =
            program->ranks[rank].processors > 0 &&
            (computing_is_shared(reading, rank) || !is_crowded(reading, &strands_on_machine, rank));
    map_release(&strands_on_machine);
}

void computing_divide(struct reading *reading)
{
    struct run_program *program = reading->program;
    size_t n = reading->n_computings;
    struct edge *edges = xmalloc((2 * n + 1) * sizeof *edges);
    uint32_t *active = xmalloc((n + 1) * sizeof *active);
    double *own_s = xcalloc(n + 1, sizeof *own_s);
    mark_ranks(reading);
    make_edges(reading, edges);
    qsort(edges, 2 * n, sizeof *edges, compare);
    divide_computing(edges, 2 * n, active, own_s);
    program->handover_s = handover_s(reading, edges, 2 * n);
    program->shared = xmalloc((n + 1) * sizeof *program->shared);
    program->n_shared = n;
    for (size_t i = 0; i < n; i++)
        program->shared[i] = (struct run_shared){reading->computings[i].of, own_s[i], reading->computings[i].is_tail};
    run_program_swap_shared(program);
    FREE_ALL(edges, active, own_s);
}
