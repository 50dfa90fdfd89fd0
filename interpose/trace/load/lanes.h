/* Gives the records of one process that make up its timeline, from all its threads in one order. */
#ifndef MPISTAIR_TRACE_LANES_H
#define MPISTAIR_TRACE_LANES_H

#include "interpose/trace/state/trace.h"

struct lane {
    struct spool_cursor cursor;
    const uint8_t *record; /* the next one, NULL: none any more */
    uint64_t ticks;        /* its time */
    size_t clock_hint;
    size_t next_origin;  /* origin of the next operation that has one */
    int64_t idle_end_ns; /* end of the unsuccessful tests so far; each sum is laid behind the one before */
    uint32_t number;
};

struct lanes {
    const struct trace_process *process;
    struct lane *lanes; /* [n_lanes] that have records left */
    size_t n_lanes;
};

/* Begins with the first record of each lane. */
void lanes_begin(struct lanes *lanes, const struct trace *trace, const struct trace_process *process);
/* Returns the lane whose record (SPOOL_OPERATION, SPOOL_CALL or SPOOL_IDLE) is the next of the process; NULL at the
 * end. */
struct lane *lanes_first(const struct lanes *lanes);
/* Goes on behind the record of that lane. */
void lanes_take(struct lanes *lanes, const struct trace *trace, struct lane *lane);
void lanes_release(struct lanes *lanes);

/* True if the call of the lane's record, an operation, never returned although its thread went on: an error
 * handler left it by a jump. */
bool lane_left_call(const struct lane *lane);

/* True if the operation has a place in trace.origins. */
bool record_has_origin(const struct spool_operation *record);

#endif
