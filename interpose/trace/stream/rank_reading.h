/* Reads one rank by itself, window by window: its operations and completion calls, and the steps that these make. It
 * needs nothing of other ranks, so that threads can read several ranks at once. */
#ifndef MPISTAIR_TRACE_RANK_READING_H
#define MPISTAIR_TRACE_RANK_READING_H

#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "interpose/trace/stream/match.h"
#include "interpose/trace/stream/outside.h"
#include "interpose/trace/stream/step.h"

struct lane {
    struct spool_cursor cursor;
    const uint8_t *record; /* the next one, NULL: none any more */
    uint64_t ticks;        /* its time */
    size_t clock_hint;
    size_t next_origin;  /* origin of the next operation that has one */
    int64_t idle_end_ns; /* end of the unsuccessful tests so far; each sum is laid behind the one before */
    uint32_t number;
    /* Of a thinned run: */
    int64_t place;     /* of the record */
    int64_t before;    /* of the one before */
    size_t span;       /* the next one to be looked at */
    uint32_t sequence; /* of the chunk that should come next */
};

struct lanes {
    const struct trace_process *process;
    struct outside_calls outside;
    struct lane *lanes; /* [n_lanes] that have records left */
    size_t n_lanes;
};

/* A part of the run that is read of all ranks. */
struct window {
    int64_t until_ns; /* its end, from the begin of the earliest process of the rank's node */
    int64_t place;    /* of a thinned run: the burst that is read */
    size_t limit;     /* the rank is read on in the next one behind so many records */
};

/* What a rank did in a window; starts as zeroes, and is used again for another one. */
struct rank_window {
    struct trace_operation *operations; /* [n_operations] in the order of posting, without what matching says */
    size_t n_operations;
    size_t operations_capacity;
    struct call_row *calls; /* [n_calls] */
    size_t n_calls;
    size_t calls_capacity;
    struct step_notes notes;
    size_t n_read;   /* operations and calls */
    int64_t next_ns; /* when what comes next begins; INT64_MAX: the rank has nothing more, in the run or the burst */
};

/* What is known of the last operation that was read. */
struct last_operation {
    int64_t post_ns;
    uint32_t lane;
    uint16_t function; /* FN_COUNT: there is none */
};

struct rank_reading {
    const struct trace *trace;
    uint32_t rank;
    bool only_messages; /* between nodes; nothing else is wanted */
    int64_t start_ns;   /* begin of the earliest process of the node */
    struct lanes lanes;
    struct posted_pool posted;
    struct timeline timeline;
    struct background background;
    struct stepper stepper;
    struct time_in_mpi in_mpi;
    struct last_operation last;
    uint64_t n_operations;
    size_t next_collective;  /* index in trace.calls, for the timeline */
    size_t next_in_mpi;      /* for the time in MPI */
    int64_t next_ns;         /* as in rank_window */
    int64_t bounds_until_ns; /* before this, collectives go onto the timeline */
};

/* Begins with a rank; it stays where it is until reading_release. Where it left no spool nothing can be read. */
void reading_begin(struct rank_reading *reading, struct trace *trace, uint32_t rank, bool only_messages,
                   struct matcher *matcher);
void reading_release(struct rank_reading *reading);
/* Reads what lies in the window. */
void reading_take(struct rank_reading *reading, const struct window *window, struct rank_window *found);
/* Finds the steps that are open at the end of the run, or of a burst. */
void reading_end(struct rank_reading *reading, struct rank_window *found);
void rank_window_release(struct rank_window *found);

/* Of a thinned run: */

/* Counts what lies before the next burst of the rank, and returns the place of that; INT64_MAX: there is none. */
int64_t reading_skip_outside(struct rank_reading *reading, struct matcher *matcher);
/* Begins with that burst; returns when its first record comes, INT64_MAX: the rank has none in it. */
int64_t reading_begin_burst(struct rank_reading *reading, int64_t place);
/* Forgets what is open at the end of a burst: nothing goes on behind it. */
void reading_end_burst(struct rank_reading *reading);

#endif
