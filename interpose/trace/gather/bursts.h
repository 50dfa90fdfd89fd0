/* Finds the bursts of a run whose recorder had not room for all records (interpose/spool/event.h): parts of the time of
 * which every process has its records. What lies outside of them is only counted.
 *
 * A place is a burst or the time between two, ascending in time: odd for a burst, even for the time behind it. Each
 * process is asked by its own clock, which the recorder went by, so that what is inside is all there. */
#ifndef MPISTAIR_TRACE_BURSTS_H
#define MPISTAIR_TRACE_BURSTS_H

#include <sqlite3.h>

#include "interpose/trace/state/trace.h"

/* Sets trace.bursts; needs nodes_build. */
void bursts_find(struct trace *trace);

/* Returns the place of a time on the clock of the process's node. */
int64_t burst_place(const struct trace *trace, const struct trace_process *process, int64_t node_ns);

static inline bool place_is_inside(int64_t place)
{
    return (place & 1) != 0;
}

/* Returns when the burst of a place that is inside ends, on the clock of the process's node. */
int64_t burst_end_ns(const struct trace *trace, const struct trace_process *process, int64_t place);

/* Finds the gaps [*begin, *end) of a lane that stand for its chunks from first on and before end_sequence (UINT32_MAX:
 * to its end). Returns whether they stand for all of these. */
bool gaps_between(const struct spool_gap *gaps, size_t n_gaps, uint32_t lane, uint32_t first, uint32_t end_sequence,
                  size_t *begin, size_t *end);

/* Writes the table burst; needs clock_align. Returns 0, or -1: the database says why. */
int bursts_write(const struct trace *trace, sqlite3 *database);

#endif
