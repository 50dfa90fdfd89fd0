/* Counts the joint calls of a thinned run that lie outside of bursts. */
#ifndef MPISTAIR_TRACE_JOINT_OUTSIDE_H
#define MPISTAIR_TRACE_JOINT_OUTSIDE_H

#include "interpose/spool/reader.h"
#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

struct skipped_call; /* calls of one function on one communicator of the process */

struct joint_outside {
    struct trace *trace;
    struct communicator_table *communicators;
    const struct trace_node *node;
    struct trace_process *process;
    uint32_t rank;
    size_t clock_hint;
    /* Of the lane that is read: */
    struct skipped_call *calls; /* [n_calls] */
    size_t n_calls;
    struct map numbers;
    int64_t place;          /* of the last record */
    int64_t at_ns;          /* latest time that is known to lie before what comes next */
    uint64_t ticks;         /* of the last record that the last reading takes */
    size_t span;            /* the next one to be noted */
    uint32_t next_sequence; /* of the chunk behind those before */
    struct spool_folded folded;
};

/* Begins with a process, whose node and begin are known. */
void joint_outside_begin_process(struct joint_outside *outside, struct trace *trace,
                                 struct communicator_table *communicators, uint32_t rank);
void joint_outside_begin_lane(struct joint_outside *outside, const struct trace_lane *lane);
/* Takes the next record of the lane, from that span. Returns whether it lies inside a burst. */
bool joint_outside_take(struct joint_outside *outside, const uint8_t *record, size_t span);
void joint_outside_end_lane(struct joint_outside *outside, const struct trace_lane *lane);
/* Adds what lanes without a record left, and ends. */
void joint_outside_end_process(struct joint_outside *outside);

#endif
