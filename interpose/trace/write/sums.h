/* Sums of all calls of a process, as the recorder's own functions make them (interpose/spool/totals.h). They need what
 * trace_load found and nothing of what messages say, so that threads of their own can add them up meanwhile. */
#ifndef MPISTAIR_TRACE_SUMS_H
#define MPISTAIR_TRACE_SUMS_H

#include "interpose/spool/totals.h"
#include "interpose/trace/state/trace.h"
#include "interpose/trace/write/write_regions.h"

/* Slots that are not used have no calls. */
struct sums {
    struct totals totals;
    struct spool_course course;
};

/* Adds up the process, reading all its records. regions takes its occurrences; NULL: it has no regions. */
void sums_read(struct sums *sums, const struct trace *trace, const struct trace_process *process,
               struct region_writer *regions);
void sums_release(struct sums *sums);

/* Sums of ranks that threads make ahead, in the order of ranks. */
struct sums_ahead;

/* Starts up to n threads. What they hold is bounded: they wait where sums are not taken. Returns NULL for n 0, and
 * where no thread can be started. */
struct sums_ahead *sums_ahead_begin(const struct trace *trace, size_t n);
/* Takes the sums of a rank; ranks come in ascending order. Returns false if the caller has to make them. */
bool sums_ahead_take(struct sums_ahead *ahead, int32_t rank, struct sums *sums);
/* Ends the threads, which may be busy with a rank each; NULL: nothing to do. */
void sums_ahead_end(struct sums_ahead *ahead);

#endif
