/* Replays a recorded run with its own times: no machine is needed. Each call begins after the computation before it,
 * waits for what it waited for when it was recorded (posts of messages, arrivals at collectives), and then takes the
 * rest of its recorded time. Unchanged, that gives the recording again; with something mended, how long the run would
 * have been (share/doc/MODELS.md, What mending gains). */
#ifndef MPISTAIR_PREDICTOR_RUN_RETIME_H
#define MPISTAIR_PREDICTOR_RUN_RETIME_H

#include "predictor/run/run_program.h"

/* A call as recorded. */
struct run_timed_call {
    double begin_s;
    float length_s;
    float rest_s; /* of it, behind what it waited for; below 0 where clocks differ. Set by run_retime_begin. */
    size_t first_step;
};

/* A call that was over only when another rank called MPI again, since the transfer needed that rank. */
struct run_timed_edge {
    size_t call, cause; /* cause: the call of the other rank */
};

/* Calls in the order of strands, then time; those of a strand have all its steps. */
struct run_timed_calls {
    struct run_timed_call *rows; /* [n] */
    size_t n;
    struct run_timed_edge *edges; /* [n_edges] by call; made by run_retime_begin */
    size_t n_edges;
    size_t *by_cause; /* [n_edges] edges in the order of their causes */
};

/* What is mended at the calls of a site. */
enum run_mending {
    MEND_POSTED = 1U << 0,  /* its sends wait for no receive */
    MEND_APART = 1U << 1,   /* its collectives wait for nobody */
    MEND_LATER = 1U << 2,   /* its waits are over only when the next call begins */
    MEND_EARLIER = 1U << 3, /* its calls come before the computation that they came after */
};

/* What is mended of one call alone: how long the computation before it, and its rest, take at most. */
struct run_mend_call {
    size_t call;
    float compute_most_s, rest_most_s; /* INFINITY: as recorded */
};

/* Arrays may be NULL: nothing of that kind is mended. */
struct run_mend {
    float *compute_scale;        /* [n_places] of computation before calls there */
    float *compute_most_s;       /* [n_places] the longest computation before a call there */
    float *rest_scale;           /* [n_places] */
    uint8_t *site;               /* [n_sites] set of enum run_mending */
    struct run_mend_call *calls; /* [n_calls] by call, each once */
    size_t n_calls;
};

/* Makes rest_s and edges of the calls, and marks messages as MESSAGE_AWAITED whose send waited though it need not.
 * Returns 0, or -1 where calls and steps do not fit together. */
int run_retime_begin(struct run_program *program, struct run_timed_calls *calls);
/* Returns the seconds from the first begin to the last end of a rank, of each burst, added up; NaN where ranks wait for
 * each other for ever. */
double run_retime(const struct run_program *program, const struct run_timed_calls *calls, const struct run_mend *mend);

/* Frees the rows as well. */
void run_timed_calls_release(struct run_timed_calls *calls);

/* Returns the call that has a step. */
size_t run_timed_call_of(const struct run_timed_calls *calls, size_t step);

#endif
