/* MPI_Pcontrol(0), or the end of the window, ends recording on a rank; 1 or the window's begin starts it again. In
 * between operations are recorded all the same, so that the others of their envelopes meet the right partner. They make
 * neither messages nor unmatched rows, and nor do their partners, whose recording may have been on. A row of
 * recording_off counts both. */
#include "interpose/trace/records/records.h"

#include "interpose/database/row.h"
#include "share/base/array.h"
#include "share/base/order.h"

void mark_load(struct loader *loader, const struct spool_mark *record)
{
    struct trace *trace = loader->trace;
    trace_grow(&trace->collectives, trace->n_collectives, sizeof *trace->collectives);
    int64_t at_ns = loader_ns(loader, record->ticks);
    trace->collectives[trace->n_collectives++] = (struct trace_collective){
        .begin_ns = at_ns,
        .call_end_ns = at_ns,
        .end_ns = at_ns,
        .rank = loader->rank,
        .communicator = TRACE_NONE,
        .callsite = callsite_of(&loader->callsites, trace, record->site, record->ticks),
        .root = record->number,
        .function = FN_Pcontrol,
        .flags = record->flags,
    };
}

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
    for (size_t i = process->first_collective; i < process[1].first_collective; i++) {
        const struct trace_collective *mark = &trace->collectives[i];
        if (mark->function != FN_Pcontrol)
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

int marks_write(const struct trace *trace, sqlite3 *database)
{
    struct row mark = row_prepare(database, "mark", 4), off = row_prepare(database, "recording_off", 5);
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *call = &trace->collectives[i];
        if (call->function == FN_Pcontrol && !(call->flags & SPOOL_BY_WINDOW))
            row_insert(&mark, "ubiu", call->rank, call->root, call->begin_ns, call->callsite);
    }
    for (size_t i = 0; i < trace->n_offs; i++)
        row_insert(&off, "uiiii", trace->offs[i].rank, trace->offs[i].begin_ns, trace->offs[i].end_ns,
                   trace->offs[i].operations, trace->offs[i].partners);
    return row_finish(&mark) | row_finish(&off);
}
