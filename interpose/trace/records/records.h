/* The first reading of all records, and what records say of themselves. */
#ifndef MPISTAIR_TRACE_RECORDS_H
#define MPISTAIR_TRACE_RECORDS_H

#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/state/trace.h"

/* Reads all spools for the first time. Fills communicators, collectives and other rare records (by rank, then by
 * begin), call sites, and all of the processes but their places. Times are on the nodes' own clocks. Needs nodes_build.
 * jobs: threads that look at the records before. */
void trace_load(struct trace *trace, size_t jobs);

/* True if the communicator and the peer that the record names exist; if not, the record is damaged. */
bool operation_known(const struct trace *trace, const struct trace_process *process,
                     const struct spool_operation *record);

/* Returns the entry of the record's call, 0 if it belongs to no call. */
uint64_t record_begin_ticks(const uint8_t *record);

/* True if the last reading takes the record; *ticks is its place in the order of time of its lane. */
bool record_order(const struct trace *trace, const struct trace_process *process, const uint8_t *record,
                  uint64_t *ticks);

/* Returns the peer that has to exist so that the record is not damaged; -1: none has to. */
int32_t operation_peer(const struct spool_operation *record);

/* True if MPI rejected the call, since it does not know its communicator either. */
bool operation_rejected(const struct spool_operation *record);

/* Returns a time of the rank's node on the run's clock, TRACE_NO_TIME as it is; needs clock_align. */
static inline int64_t trace_run_ns(const struct trace *trace, uint32_t rank, int64_t ns)
{
    return ns == TRACE_NO_TIME ? ns : clock_run_ns(&trace->nodes[trace->processes[rank].node], ns);
}

/* True if the operation has a place in trace.origins. */
static inline bool record_has_origin(const struct spool_operation *record)
{
    return record->persistent != 0 || record->stack != 0 || (record->flags & SPOOL_PARTITIONED) != 0;
}

/* Finds the times without recording; needs clock_align. */
void marks_find(struct trace *trace);
/* Counts an operation posted in such a time: itself, or its partner, whose process recorded. */
void marks_count(struct trace *trace, const struct trace_operation *operation, bool is_partner);

#endif
