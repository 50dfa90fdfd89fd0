/* Finds rounds, what several ranks did together, while their steps come in. */
#ifndef MPISTAIR_TRACE_ROUND_H
#define MPISTAIR_TRACE_ROUND_H

#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/round_rows.h"
#include "interpose/trace/stream/step.h"
#include "share/base/map.h"

/* The synchronising collectives of each rank by communicator, then by their number in the rank's own order. */
struct barriers {
    struct barrier *entries;
    size_t *first; /* [world_size + 1] where the entries of a rank begin */
};

struct rounds {
    struct trace *trace;
    struct barriers barriers;
    uint32_t first_free; /* index in trace.steps, linked through next */
    uint64_t n_opened;
    uint32_t *complete; /* [n_complete] representatives of rounds that nothing more can join */
    size_t n_complete;
    size_t complete_capacity;
    uint32_t *single; /* [n_single] receives of messages that belong to no round */
    size_t n_single;
    size_t single_capacity;
};

/* Begins without rounds. */
void rounds_begin(struct rounds *rounds, struct trace *trace);
/* Moves all complete rounds and their messages, and those that belong to none, to what becomes rows. */
void rounds_move_complete(struct rounds *rounds, struct complete_rows *complete);
void rounds_release(struct rounds *rounds);

/* The rank whose notes are taken. */
struct noted_rank {
    uint32_t rank;
    uint32_t step;        /* its open step, TRACE_NONE: none */
    uint32_t *operations; /* [capacity] the operations of the pool by their numbers in the notes */
    size_t capacity;
};

/* Takes what was found about the steps of a rank; its operations are in the pool. */
void rounds_take_notes(struct rounds *rounds, struct noted_rank *rank, const struct step_notes *notes);

/* Note that a receive met its send, or that an operation will never be part of a round's message. */
void round_match(struct rounds *rounds, uint32_t receive);
void round_give_up(struct rounds *rounds, uint32_t operation);

#endif
