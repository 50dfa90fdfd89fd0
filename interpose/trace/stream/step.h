/* Finds steps: what one rank posts and completes together. */
#ifndef MPISTAIR_TRACE_STEP_H
#define MPISTAIR_TRACE_STEP_H

#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/round.h"
#include "interpose/trace/stream/timeline.h"
#include "share/base/map.h"

/* One rank; starts as zeroes. */
struct step_envelopes {
    struct map_key *completed; /* [n_completed] as posted, from the present step in the order of completion */
    size_t n_completed;
    size_t completed_capacity;
    size_t n_known;      /* how many of them are in the map */
    struct map known;    /* envelopes that completed in the present step */
    struct map standing; /* envelopes whose receives are posted anew as soon as one completed */
};

/* What is known of one rank while its events come in; steps_begin sets it up. */
struct stepper {
    uint32_t rank;
    uint32_t step; /* the step that is open or over, TRACE_NONE: none */
    uint32_t n_barriers;
    uint32_t first_pending; /* operations that hold the step open, linked through held_next */
    size_t pending;
    size_t pending_receives;
    struct step_envelopes envelopes;
    int64_t call_ns;     /* begin of the current completion call, TRACE_NO_TIME: none was recorded */
    uint64_t call;       /* its number, from 1; 0: none */
    uint16_t function;   /* function of the call */
    uint64_t opened_by;  /* call that opened the step, if that began with a background completion; else UINT64_MAX */
    int64_t blocking_ns; /* post of the last blocking call, whose second half may follow */
    bool completing;
    bool received; /* a receive completed in this step */
    bool waited;   /* the last completion was reported by Wait or Waitall */
};

void steps_begin(struct stepper *stepper, uint32_t rank);
/* Takes events from the timeline as far as they are certain; with `all` to the end, where the last step ends too. */
void steps_advance(struct stepper *stepper, struct rounds *rounds, struct timeline *timeline, bool all);
void steps_release(struct stepper *stepper);

#endif
