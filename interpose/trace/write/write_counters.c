/* Writes what the kernel counted of each process (interpose/spool/counters.h): a row for the time between two samples.
 */
#include "interpose/trace/write/tables.h"

#include "interpose/database/row.h"
#include "interpose/spool/counters.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/rows/sink.h"

/* Returns the growth of a counter, TRACE_NO_TIME where it is not known. */
static int64_t counted(const struct spool_counter_sample *sample, enum spool_counter counter)
{
    uint64_t begin = sample[0].value[counter], end = sample[1].value[counter];
    bool known = begin != SPOOL_NOT_KNOWN && end != SPOOL_NOT_KNOWN && end - begin <= INT64_MAX >> 10;
    return known ? (int64_t)(end - begin) : TRACE_NO_TIME;
}

int write_counters(const struct trace *trace, sqlite3 *database)
{
    static struct spool_counter_sample samples[SPOOL_COUNTER_SAMPLES];
    static const char *const perf[] = {NULL, "there", "forbidden", "none"};
    struct row row = row_prepare(database, "counter", 3 + COUNTERS),
               source = row_prepare(database, "counter_source", 2);
    for (int64_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        uint32_t known = 0;
        size_t n = process->spool == NULL ? 0 : spool_counters_read(process->spool, samples, &known);
        if (n > 0)
            row_insert(&source, "it", rank, perf[known]);
        for (size_t i = 0; i + 1 < n; i++) {
            const struct spool_counter_sample *at = &samples[i];
            row_insert(&row, "iiiooooooooooo", rank, clock_run_ns(&trace->nodes[process->node], (int64_t)at[0].at_ns),
                       clock_run_ns(&trace->nodes[process->node], (int64_t)at[1].at_ns), counted(at, COUNTER_USER_NS),
                       counted(at, COUNTER_SYSTEM_NS), counted(at, COUNTER_WAIT_NS), counted(at, COUNTER_VOLUNTARY),
                       counted(at, COUNTER_INVOLUNTARY), counted(at, COUNTER_MINOR_FAULTS),
                       counted(at, COUNTER_MAJOR_FAULTS), counted(at, COUNTER_MIGRATIONS),
                       counted(at, COUNTER_INSTRUCTIONS), counted(at, COUNTER_CYCLES), counted(at, COUNTER_CLOCK));
        }
    }
    return row_finish(&row) | row_finish(&source);
}
