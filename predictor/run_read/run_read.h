/* Makes the program of a run (predictor/run/run_program.h) from a trace.db. */
#ifndef MPISTAIR_PREDICTOR_RUN_READ_H
#define MPISTAIR_PREDICTOR_RUN_READ_H

#include <sqlite3.h>
#include <stdint.h>

#include "predictor/run/run_program.h"
#include "predictor/run/engine/simulate.h"
#include "share/base/error.h"

/* Says where a window of the run begins or ends. Marks and call sites are looked for on each rank; one that has none
 * takes the earliest begin, or the latest end, of the others. */
enum run_bound_kind {
    RUN_BOUND_NONE,   /* the begin or the end of the run */
    RUN_BOUND_TIME,   /* value: ns since the begin of the run */
    RUN_BOUND_SHARE,  /* value: of 1e9, the share of the run up to there */
    RUN_BOUND_MARK,   /* value: the number of an MPI_Pcontrol; from the first one, to the last one */
    RUN_BOUND_SITE,   /* value: an id of callsite; from the begin of its first call, to the end of its last one */
    RUN_BOUND_REGION, /* value: which of its occurrences on each rank, from 1 on; 0: from the first to the last one */
};
struct run_bound {
    enum run_bound_kind kind;
    int64_t value;
    const char *region; /* of RUN_BOUND_REGION: its name or path, borrowed */
};
struct run_window {
    struct run_bound from, to;
    const uint8_t *ranks; /* [n_ranks] whether a rank counts; the others are there and do nothing. NULL: all count */
};

/* Reads "2.5" (seconds), "40%", "mark:3", "site:17". Returns 0, or -1 with what was expected. */
int run_bound_parse(const char *text, struct run_bound *bound, struct error *error);
/* Reads "solve", "solve:3": the window of a region, or of its third occurrence. One region at a time is known. */
void run_region_parse(const char *text, struct run_window *window);
/* Writes a bound as messages name it: "2.5 s", "40 %", "mark:3"; "" for none. */
enum { RUN_BOUND_BYTES = 48 };
void run_bound_text(const struct run_bound *bound, char text[RUN_BOUND_BYTES]);

/* Of a window that is open there. */
#define RUN_FROM_OPEN INT64_MIN
#define RUN_TO_OPEN   INT64_MAX
/* Fills from_ns[n], to_ns[n], by rank, with the ends of a window. Returns 0, or -1 with the reason: a mark or a call
 * site that the run lacks, a window that ends before it begins. */
int run_bounds_find(sqlite3 *database, const char *path, const struct run_window *window, size_t n, int64_t *from_ns,
                    int64_t *to_ns, struct error *error);

/* Describes a call as recorded, for those who want more than the sums of a place. */
struct run_call {
    uint32_t rank, site;     /* site: in the program's sites */
    double begin_s, end_s;   /* of the call, as times of the program are */
    size_t n_steps;          /* steps of the program until its end */
    struct run_parts part_s; /* computation: before it */
};
/* Is told every call, in order by rank, then strand; behind the last call of a strand its site is that of "end". The
 * program may be incomplete then, but for its sites. */
struct run_watch {
    void (*call)(void *context, const struct run_program *program, const struct run_call *call);
    void *context;
};

/* Describes a message as recorded, for those who sum over all of them. */
struct run_recorded_message {
    uint64_t bytes;
    uint32_t src, dst, site;            /* site: of its send, in the program's sites */
    bool between_nodes;                 /* by its level */
    int64_t late_ns;                    /* from the post of the send to that of the receive */
    int64_t recv_ns;                    /* from the post of the receive to its completion; negative: never reported */
    int64_t send_call_ns, recv_call_ns; /* of the calls that posted it */
    bool send_stands, recv_stands;      /* for those calls, each of which one operation stands for (Sendrecv has two) */
};
/* Is told every message of the trace in the order of their ids, whether its calls count or not. message returns 0, or
 * -1 without memory. */
struct run_message_watch {
    int (*message)(void *context, const struct run_recorded_message *message);
    void *context;
};

/* What is wanted of a trace beside the program of its whole run; each may be NULL. */
struct run_want {
    const struct run_window *window; /* calls that lie in it as a whole; NULL: all */
    const struct run_watch *calls;
    const struct run_message_watch *messages;
    /* Becomes as if a replay had taken exactly as long as was recorded: begin and end of ranks, who waited for whom; no
     * predicted parts. run_blame takes it. All 0 before; simulation_result_release in either case. */
    struct simulation_result *recorded;
};

/* Fills *program, which must be empty, from the trace of that path. Measured parts of a rank add up to the time that
 * its strands took, the first of which lasts from the rank's begin to its end. Returns 0, or -1 with the reason and
 * nothing of the program to release. */
int run_program_read(sqlite3 *database, const char *path, const struct run_want *want, struct run_program *program,
                     struct error *error);

/* Tells whether a function of MPI, as MPI_Ibcast, MPI_Bcast_init or MPI_Bcast_c, is the collective of that name in
 * small letters, without MPI_: "bcast". */
bool run_collective_named(const char *function, const char *name);
/* Tells whether a function is one of those names, the last of them NULL, or one of them with _c behind it. */
bool run_function_named(const char *function, const char *const *names);

#endif
