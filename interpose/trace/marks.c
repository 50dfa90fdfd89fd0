/* MPI_Pcontrol(0) ends recording on a rank, 1 begins it again. In between operations are recorded all the same, so that
 * the others of their envelopes meet the right partner; they make neither messages nor unmatched rows, and nor do their
 * partners, whose recording may have been on. A row of recording_off counts both.
 */
#include "marks.h"

#include <stdlib.h>

#include "row.h"

void mark_load(struct loader *loader, const struct spool_mark *record)
{
    struct trace *trace = loader->trace;
    struct trace_collective *grown = loader_grow(loader, trace->collectives, trace->n_collectives, sizeof *grown);
    if (grown == NULL)
        return;
    trace->collectives = grown;
    int64_t at_ns = loader_ns(loader, record->ticks);
    trace->collectives[trace->n_collectives++] = (struct trace_collective){
        .begin_ns = at_ns,
        .call_end_ns = at_ns,
        .end_ns = at_ns,
        .rank = loader->rank,
        .communicator = TRACE_NONE,
        .callsite = callsite_of(&loader->callsites, trace, record->site),
        .root = record->number,
        .function = FN_Pcontrol,
    };
}

/* A time without recording on one rank. */
struct off {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t operations; /* posted in it */
    int64_t partners;   /* operations of others, recorded, that met one of them */
};

/* Those of a rank in the order of time; where there is none although operations say so (its mark is lost), its whole
 * life is one. NULL: no memory. */
static struct off *find_offs(const struct trace *trace, int32_t rank, size_t *n_offs)
{
    const struct trace_process *process = &trace->processes[rank];
    struct off *offs = malloc((process[1].first_collective - process->first_collective + 1) * sizeof *offs);
    size_t n = 0;
    bool off = false;
    for (size_t i = process->first_collective; offs != NULL && i < process[1].first_collective; i++) {
        const struct trace_collective *mark = &trace->collectives[i];
        if (mark->function != FN_Pcontrol)
            continue;
        if (mark->root == 0 && !off)
            offs[n++] = (struct off){.begin_ns = mark->begin_ns, .end_ns = process->end_ns};
        else if (mark->root == 1 && off)
            offs[n - 1].end_ns = mark->begin_ns;
        off = mark->root == 0 || (off && mark->root != 1);
    }
    for (size_t i = process->first_operation; offs != NULL && n == 0 && i < process[1].first_operation; i++)
        if (trace->operations[i].flags & SPOOL_OFF)
            offs[n++] = (struct off){.begin_ns = process->begin_ns, .end_ns = process->end_ns};
    *n_offs = n;
    return offs;
}

static void count_operations(const struct trace *trace, int32_t rank, struct off *offs, size_t n_offs)
{
    const struct trace_process *process = &trace->processes[rank];
    size_t at = 0;
    for (size_t i = process->first_operation; n_offs > 0 && i < process[1].first_operation; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        if (!(operation->flags & SPOOL_OFF))
            continue;
        while (at + 1 < n_offs && offs[at + 1].begin_ns <= operation->post_ns)
            at++;
        offs[at].operations++;
        offs[at].partners +=
            operation->partner != TRACE_NONE && !(trace->operations[operation->partner].flags & SPOOL_OFF);
    }
}

static int write_offs(const struct trace *trace, struct row *row)
{
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        size_t n_offs;
        struct off *offs = find_offs(trace, rank, &n_offs);
        if (offs == NULL)
            return -1;
        count_operations(trace, rank, offs, n_offs);
        for (size_t i = 0; i < n_offs; i++)
            row_insert(row, "iiiii", (int64_t)rank, offs[i].begin_ns, offs[i].end_ns, offs[i].operations,
                       offs[i].partners);
        free(offs);
    }
    return 0;
}

int marks_write(const struct trace *trace, sqlite3 *database)
{
    struct row mark = row_prepare(database, "mark", 4), off = row_prepare(database, "recording_off", 5);
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct trace_collective *call = &trace->collectives[i];
        if (call->function == FN_Pcontrol)
            row_insert(&mark, "iiiu", (int64_t)call->rank, (int64_t)call->root, call->begin_ns, call->callsite);
    }
    int result = write_offs(trace, &off);
    return row_finish(&mark) | row_finish(&off) | result;
}
