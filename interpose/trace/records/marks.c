/* MPI_Pcontrol(0), or the end of the window, ends recording on a rank; 1 or the window's begin starts it again. In
 * between operations are recorded all the same, so that the others of their envelopes meet the right partner. They make
 * neither messages nor unmatched rows, and nor do their partners, whose recording may have been on. A row of
 * recording_off counts both. */
#include "interpose/trace/records/records.h"

#include "share/base/array.h"
#include "share/base/order.h"

static void add_off(struct trace *trace, uint32_t rank, int64_t begin_ns)
{
    ARRAY_ADD(trace->offs, trace->n_offs,
              (struct trace_off){.rank = rank, .begin_ns = begin_ns, .end_ns = trace->processes[rank].end_ns});
}

/* Finds the times without recording of a rank, in the order of time. Where there is none although operations say so
 * (its mark is lost), the rank's whole life is one. */
static void find_offs(struct trace *trace, uint32_t rank)
{
    const struct trace_process *process = &trace->processes[rank];
    size_t before = trace->n_offs;
    bool off = false;
    for (size_t i = process->first_call; i < process[1].first_call; i++) {
        const struct trace_call *mark = &trace->calls[i];
        if (mark->sort != CALL_MARK)
            continue;
        bool off_from_here = (mark->flags & SPOOL_OFF) != 0;
        if (off_from_here && !off)
            add_off(trace, rank, mark->begin_ns);
        if (!off_from_here && off)
            trace->offs[trace->n_offs - 1].end_ns = mark->begin_ns;
        off = off_from_here;
    }
    if (process->off && trace->n_offs == before)
        add_off(trace, rank, process->begin_ns);
}

void marks_find(struct trace *trace)
{
    for (uint32_t rank = 0; rank < (uint32_t)trace->world_size; rank++)
        find_offs(trace, rank);
}

/* Returns the time without recording in which the operation was posted: the last of its rank that began before. */
static struct trace_off *off_of(struct trace *trace, const struct trace_operation *operation)
{
    size_t at = 0;
    FIRST_BEYOND(at, trace->n_offs,
                 trace->offs[at].rank < operation->rank ||
                     (trace->offs[at].rank == operation->rank && trace->offs[at].begin_ns <= operation->post_ns));
    /* An operation that was posted before the first, as corrected clocks may have it, is counted there. */
    at -= at > 0 && trace->offs[at - 1].rank == operation->rank;
    return at < trace->n_offs && trace->offs[at].rank == operation->rank ? &trace->offs[at] : NULL;
}

void marks_count(struct trace *trace, const struct trace_operation *operation, bool is_partner)
{
    struct trace_off *off = off_of(trace, operation);
    if (off != NULL)
        ++*(is_partner ? &off->partners : &off->operations);
}
