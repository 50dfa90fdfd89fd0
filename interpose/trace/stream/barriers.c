/* Two ranks may enter the same collective at very different times, so times cannot tell whether it lies between their
 * steps. How many collectives of each communicator a rank had passed before its step can. */
#include "interpose/trace/stream/barriers.h"

#include <stdlib.h>

#include "share/base/memory.h"
#include "share/base/order.h"

struct barrier {
    uint64_t communicator; /* the communicator, or MARKS + the number of the mark */
    uint32_t n_barriers;   /* synchronising collectives and marks that the rank had begun before, of any kind */
    uint64_t passed;       /* collectives on the communicator, up to this one */
};

static const uint64_t MARKS = UINT64_C(1) << 32;

/* Marks of one number count like collectives on a communicator of their own: ranks that never set it are not asked. */
static uint64_t counted_by(const struct trace_collective *collective)
{
    return collective->function == FN_Pcontrol ? MARKS + (uint32_t)collective->root : collective->communicator;
}

static int compare_entries(const void *left, const void *right)
{
    const struct barrier *a = left, *b = right;
    return ORDER(a->communicator, b->communicator) ?: ORDER(a->n_barriers, b->n_barriers);
}

void barriers_build(struct barriers *barriers, const struct trace *trace)
{
    barriers->entries = xcalloc(trace->n_collectives, sizeof *barriers->entries);
    barriers->first = xcalloc((size_t)trace->world_size + 1, sizeof *barriers->first);
    size_t n = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        uint32_t n_barriers = 0;
        barriers->first[rank] = n;
        for (size_t i = trace->processes[rank].first_collective; i < trace->processes[rank + 1].first_collective; i++)
            if (collective_bounds(&trace->collectives[i]))
                barriers->entries[n++] = (struct barrier){counted_by(&trace->collectives[i]), n_barriers++,
                                                          (uint64_t)trace->collectives[i].further + 1};
        qsort(barriers->entries + barriers->first[rank], n - barriers->first[rank], sizeof *barriers->entries,
              compare_entries);
        for (size_t i = barriers->first[rank] + 1; i < n; i++)
            if (barriers->entries[i].communicator == barriers->entries[i - 1].communicator)
                barriers->entries[i].passed += barriers->entries[i - 1].passed;
    }
    barriers->first[trace->world_size] = n;
}

void barriers_release(struct barriers *barriers)
{
    free(barriers->entries);
    free(barriers->first);
    *barriers = (struct barriers){0};
}

/* Returns the first entry of the rank that is not before (communicator, n_barriers). */
static size_t lower_bound(const struct barriers *barriers, uint32_t rank, struct barrier key)
{
    size_t low = barriers->first[rank], high = barriers->first[rank + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&barriers->entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns how many collectives on the communicator the rank passed before the step; first is its first entry there. */
static uint64_t passed_by(const struct barriers *barriers, size_t first, const struct trace_step *step,
                          uint64_t communicator)
{
    size_t next = lower_bound(barriers, step->rank, (struct barrier){communicator, step->n_barriers, 0});
    return next == first ? 0 : barriers->entries[next - 1].passed;
}

bool barriers_separate(const struct barriers *barriers, const struct trace_step *one, const struct trace_step *other)
{
    size_t end = barriers->first[one->rank + 1], other_end = barriers->first[other->rank + 1];
    for (size_t i = barriers->first[one->rank]; i < end;) {
        uint64_t communicator = barriers->entries[i].communicator;
        struct barrier begin = {communicator, 0, 0};
        size_t there = lower_bound(barriers, other->rank, begin);
        if (there < other_end && barriers->entries[there].communicator == communicator &&
            passed_by(barriers, i, one, communicator) != passed_by(barriers, there, other, communicator))
            return true;
        i = lower_bound(barriers, one->rank, (struct barrier){communicator + 1, 0, 0});
    }
    return false;
}
