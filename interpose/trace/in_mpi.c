#include "in_mpi.h"

#include <stdlib.h>

#include "rma.h"

static int compare_members(const void *left, const void *right)
{
    const struct trace_round_process *a = left, *b = right;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Calls of a rank as disjoint intervals: time inside MPI before a moment is a sum of whole ones and a part. */
struct busy {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t before_ns; /* inside MPI before begin_ns */
};

static int compare_busy(const void *left, const void *right)
{
    const struct busy *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Fills busy with the merged calls of a rank and returns how many there are. */
static size_t merge_calls(const struct trace *trace, uint32_t rank, struct busy *busy)
{
    const struct trace_process *process = &trace->processes[rank];
    size_t n = 0;
    for (size_t i = process->first_operation; i < process[1].first_operation; i++)
        busy[n++] = (struct busy){trace->operations[i].post_ns, trace->operations[i].post_end_ns, 0};
    for (size_t i = process->first_call; i < process[1].first_call; i++)
        busy[n++] = (struct busy){trace->calls[i].begin_ns, trace->calls[i].end_ns, 0};
    for (size_t i = process->first_collective; i < process[1].first_collective; i++)
        busy[n++] = (struct busy){trace->collectives[i].begin_ns, trace->collectives[i].call_end_ns, 0};
    for (size_t i = process->first_rma; i < process[1].first_rma; i++)
        busy[n++] = (struct busy){rma_run_ns(trace, &trace->rma[i], trace->rma[i].begin_ns),
                                  rma_run_ns(trace, &trace->rma[i], trace->rma[i].call_end_ns), 0};
    if (n == 0)
        return 0;
    qsort(busy, n, sizeof *busy, compare_busy);
    size_t merged = 0;
    for (size_t i = 1; i < n; i++) {
        if (busy[i].begin_ns <= busy[merged].end_ns) {
            busy[merged].end_ns = busy[i].end_ns > busy[merged].end_ns ? busy[i].end_ns : busy[merged].end_ns;
        } else {
            int64_t before = busy[merged].before_ns + busy[merged].end_ns - busy[merged].begin_ns;
            busy[++merged] = busy[i];
            busy[merged].before_ns = before;
        }
    }
    return merged + 1;
}

static int64_t busy_before(const struct busy *busy, size_t n, int64_t at_ns)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (busy[middle].begin_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const struct busy *last = &busy[low - 1];
    return last->before_ns + (at_ns < last->end_ns ? at_ns : last->end_ns) - last->begin_ns;
}

static int compare_ranks(const void *left, const void *right)
{
    const struct trace_round_process *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

int in_mpi_measure(struct trace *trace)
{
    if (trace->n_round_processes == 0)
        return 0;
    struct busy *busy =
        malloc((trace->n_operations + trace->n_calls + trace->n_collectives + trace->n_rma + 1) * sizeof *busy);
    if (busy == NULL)
        return -1;
    qsort(trace->round_processes, trace->n_round_processes, sizeof *trace->round_processes, compare_ranks);
    size_t n = 0;
    for (size_t i = 0; i < trace->n_round_processes; i++) {
        struct trace_round_process *member = &trace->round_processes[i];
        if (i == 0 || member->rank != member[-1].rank)
            n = merge_calls(trace, member->rank, busy);
        member->in_mpi_ns = busy_before(busy, n, member->end_ns) - busy_before(busy, n, member->begin_ns);
    }
    free(busy);
    qsort(trace->round_processes, trace->n_round_processes, sizeof *trace->round_processes, compare_members);
    return 0;
}
