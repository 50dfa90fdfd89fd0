/* Two ranks may enter the same collective at very different times, so times cannot tell whether it lies between their
 * steps. How many collectives of each communicator a rank had passed before its step can. */
#include "interpose/trace/memory/epochs.h"

#include <stdlib.h>

#include "share/base/memory.h"

bool collective_bounds(const struct trace_collective *collective)
{
    if (collective->flags & SPOOL_NONBLOCKING)
        return false;
    switch (collective->function) {
    case FN_Pcontrol: /* 0, 1 and 2 switch recording off, on, and flush */
        return collective->root < 0 || collective->root > 2;
    case FN_Comm_idup:
    case FN_Comm_idup_with_info:
        return false;
    case FN_Barrier:
    case FN_Allgather:
    case FN_Allgather_c:
    case FN_Allgatherv:
    case FN_Allgatherv_c:
    case FN_Allreduce:
    case FN_Allreduce_c:
    case FN_Alltoall:
    case FN_Alltoall_c:
    case FN_Alltoallv:
    case FN_Alltoallv_c:
    case FN_Alltoallw:
    case FN_Alltoallw_c:
    case FN_Reduce_scatter:
    case FN_Reduce_scatter_c:
    case FN_Reduce_scatter_block:
    case FN_Reduce_scatter_block_c:
        return true;
    default:
        return function_family(collective->function) == FAMILY_COMM_CREATE;
    }
}

struct epoch_entry {
    uint64_t communicator; /* the communicator, or MARKS + the number of the mark */
    uint32_t epoch;        /* synchronising collectives and marks that the rank had begun before, of any kind */
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
    const struct epoch_entry *a = left, *b = right;
    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

void epochs_build(struct epochs *epochs, const struct trace *trace)
{
    epochs->entries = xcalloc(trace->n_collectives, sizeof *epochs->entries);
    epochs->first = xcalloc((size_t)trace->world_size + 1, sizeof *epochs->first);
    size_t n = 0;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        uint32_t epoch = 0;
        epochs->first[rank] = n;
        for (size_t i = trace->processes[rank].first_collective; i < trace->processes[rank + 1].first_collective; i++)
            if (collective_bounds(&trace->collectives[i]))
                epochs->entries[n++] = (struct epoch_entry){counted_by(&trace->collectives[i]), epoch++,
                                                            (uint64_t)trace->collectives[i].further + 1};
        qsort(epochs->entries + epochs->first[rank], n - epochs->first[rank], sizeof *epochs->entries, compare_entries);
        for (size_t i = epochs->first[rank] + 1; i < n; i++)
            if (epochs->entries[i].communicator == epochs->entries[i - 1].communicator)
                epochs->entries[i].passed += epochs->entries[i - 1].passed;
    }
    epochs->first[trace->world_size] = n;
}

void epochs_release(struct epochs *epochs)
{
    free(epochs->entries);
    free(epochs->first);
    *epochs = (struct epochs){0};
}

/* Returns the first entry of the rank that is not before (communicator, epoch). */
static size_t lower_bound(const struct epochs *epochs, uint32_t rank, struct epoch_entry key)
{
    size_t low = epochs->first[rank], high = epochs->first[rank + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_entries(&epochs->entries[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns how many collectives on the communicator the rank passed before the step; first is its first entry there. */
static uint64_t passed_by(const struct epochs *epochs, size_t first, const struct trace_step *step,
                          uint64_t communicator)
{
    size_t next = lower_bound(epochs, step->rank, (struct epoch_entry){communicator, step->epoch, 0});
    return next == first ? 0 : epochs->entries[next - 1].passed;
}

bool epochs_separate(const struct epochs *epochs, const struct trace_step *one, const struct trace_step *other)
{
    size_t end = epochs->first[one->rank + 1], other_end = epochs->first[other->rank + 1];
    for (size_t i = epochs->first[one->rank]; i < end;) {
        uint64_t communicator = epochs->entries[i].communicator;
        struct epoch_entry begin = {communicator, 0, 0};
        size_t there = lower_bound(epochs, other->rank, begin);
        if (there < other_end && epochs->entries[there].communicator == communicator &&
            passed_by(epochs, i, one, communicator) != passed_by(epochs, there, other, communicator))
            return true;
        i = lower_bound(epochs, one->rank, (struct epoch_entry){communicator + 1, 0, 0});
    }
    return false;
}
