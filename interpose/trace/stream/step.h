/* Finds steps: what one rank posts and completes together. All that this needs is what the rank itself did, so that
 * threads find the steps of several ranks at once; what they find is noted down, and rounds are made of it in the order
 * of ranks. */
#ifndef MPISTAIR_TRACE_STEP_H
#define MPISTAIR_TRACE_STEP_H

#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

/* An operation as steps see it, in a cache line. */
struct posted {
    int64_t post_ns;
    int64_t post_end_ns;
    int64_t complete_ns; /* TRACE_NO_TIME: no call reported it */
    uint32_t communicator;
    int32_t peer;
    int32_t tag;
    uint32_t burst; /* burst in which it is pending, TRACE_NONE: none */
    uint32_t burst_next;
    uint32_t burst_previous;
    uint32_t held_next; /* next pending operation of the step, or next free place */
    uint32_t held_previous;
    uint16_t flags; /* enum spool_operation_flag */
    uint8_t direction;
    bool settled; /* it is certain whether it is background */
    bool background;
    bool placed; /* its step is certain */
};

/* The operations of one rank of which an event will come. A place can be used again from the next window on: until then
 * notes name it. posted_begin sets it up. */
struct posted_pool {
    struct posted *operations; /* [n] */
    size_t n;
    uint32_t first_free;   /* linked through held_next */
    uint32_t first_passed; /* of this window, linked alike */
    uint32_t last_passed;
};

void posted_begin(struct posted_pool *pool);
/* Returns a place for an operation. */
uint32_t posted_new(struct posted_pool *pool);
void posted_end_window(struct posted_pool *pool);
void posted_release(struct posted_pool *pool);

/* What was found about the steps of a rank, in the order in which it takes effect. An open step is the one that was
 * opened last. */
enum step_note_kind {
    STEP_OPENS,  /* index: synchronising collectives that the rank had begun before */
    STEP_CLOSES, /* index: in step_notes.ends */
    STEP_TAKES,  /* index: operation; it is of the open step */
    STEP_HOLDS,  /* index: operation, which may be left out of the open step yet */
    STEP_GIVES,  /* index: operation, which is left out */
    STEP_LEAVES, /* index: operation; it is of no step */
    STEP_PASSES  /* index: operation; nothing else than `passes` */
};

struct step_note {
    uint32_t index;
    uint8_t kind; /* enum step_note_kind */
    bool passes;  /* no event of the operation will come any more */
};

struct step_end {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_in_mpi_ns; /* time inside MPI before its begin and before its end */
    int64_t end_in_mpi_ns;
};

/* Starts as zeroes. */
struct step_notes {
    struct step_note *notes; /* [n] */
    size_t n;
    size_t capacity;
    struct step_end *ends; /* [n_ends] */
    size_t n_ends;
    size_t ends_capacity;
};

void step_notes_release(struct step_notes *notes);

/* Queues what one rank did in the order of time. It is filled as the rank's records are read (background_post and
 * its like look at each event then), and emptied by steps_advance as soon as it is known which of the posts are
 * background. */
enum timeline_kind {
    EVENT_COMPLETE,   /* index: operation */
    EVENT_COLLECTIVE, /* a collective that bounds steps */
    EVENT_POST,       /* index: operation that is not blocking */
    EVENT_BLOCKING,   /* index: operation, its whole call */
    EVENT_CALL,       /* a completion call begins; index: its MPI function */
};

struct timeline_event {
    int64_t at_ns;
    uint32_t index;
    enum timeline_kind kind;
};

/* A completion that lies ahead. */
struct timeline_due {
    int64_t at_ns;
    uint64_t sequence; /* number of the post in its rank */
    uint32_t operation;
};

struct timeline {
    struct timeline_event *events; /* [n_events] from first on */
    size_t first;
    size_t n_events;
    size_t capacity;
    struct timeline_due *due; /* [n_due] a heap, the earliest first */
    size_t n_due;
    size_t due_capacity;
};

void timeline_add(struct timeline *timeline, struct timeline_event event);
/* Returns event i from the front, NULL if there is none yet. */
const struct timeline_event *timeline_at(const struct timeline *timeline, size_t i);

/* Note a completion that lies ahead, and take out the earliest (timeline->due[0]). */
void timeline_expect(struct timeline *timeline, struct timeline_due due);
void timeline_arrived(struct timeline *timeline);
void timeline_release(struct timeline *timeline);

/* Finds operations that are pending in the background of what else a rank does: what is known of one rank while its
 * events come in; starts as zeroes. */
struct background {
    struct burst *bursts; /* [depth] that have or had something pending, the youngest last */
    size_t depth;
    size_t capacity;
    uint32_t n_bursts;
    uint32_t received; /* youngest burst of which a receive completed in this set, + 1; 0: none */
    bool completing;
};

/* Take the events of a rank in the order of time. They set `background` of operations[], and `settled` as soon as that
 * is certain. */
void background_post(struct background *work, struct posted *operations, uint32_t operation);
void background_complete(struct background *work, struct posted *operations, uint32_t operation);
void background_blocking(struct background *work, struct posted *operations, uint32_t operation);
void background_collective(struct background *work, struct posted *operations);
void background_release(struct background *work);

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
    struct posted_pool *pool;         /* operations, by the events of the timeline */
    const struct time_in_mpi *in_mpi; /* up to the events that are taken */
    bool open;                        /* there is a step that is open or over; then: */
    int64_t begin_ns;
    int64_t end_ns;
    int64_t first_post_ns; /* first post among its own operations; INT64_MAX: none yet */
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

void steps_begin(struct stepper *stepper, struct posted_pool *pool, const struct time_in_mpi *in_mpi);
/* Takes events from the timeline as far as they are certain; with `all` to the end, where the last step ends too. Adds
 * to the notes what it finds. */
void steps_advance(struct stepper *stepper, struct step_notes *notes, struct timeline *timeline, bool all);
void steps_release(struct stepper *stepper);

#endif
