/* Replays a program on a machine: on one clock for all ranks, computation as given, every time inside MPI predicted
 * (share/doc/MODELS.md, Whole run). */
#ifndef MPISTAIR_PREDICTOR_SIMULATE_H
#define MPISTAIR_PREDICTOR_SIMULATE_H

#include "predictor/run/laws/run_law.h"
#include "predictor/run/run_program.h"
#include "predictor/run/laws/run_queue.h"

struct run_script;

/* Windows of the run by steps: from one mark to the next, in the order of steps, all steps are in one window. Where a
 * strand begins there is a mark. */
struct simulation_mark {
    size_t step;
    uint32_t window;
};
struct simulation_windows {
    size_t n_windows, n_marks;
    const struct simulation_mark *marks;
    const bool *is_message, *is_mixed; /* [n_places] whose time counts; with that of collectives */
};

struct simulation_options {
    enum run_law law;
    struct run_ideal ideal;
    const double *scale;             /* [n_places] factors of the computation, borrowed; NULL: all 1 */
    bool log;                        /* keep who waited for whom */
    bool model_collectives;          /* as messages of the algorithms that the MPI takes; else of recorded length */
    const struct run_script *script; /* of each modelled collective, borrowed; NULL: what the MPI takes */
    unsigned terms; /* set of enum run_term; the memory term goes by the rows memory_... of the machine */
    const struct topology *topology; /* of the term contention, borrowed; NULL: a cube */
    float *message_s; /* [program->n_messages] get what messages took that a wait completed, as run_message.seconds;
                         borrowed, or NULL */
    const struct simulation_windows *windows; /* borrowed; NULL: the run as a whole is enough */
    double turn_s; /* longest wait for a core where ranks outnumber them; 0: everybody has one */
};

/* Says where a strand was: at a step, at a time. */
struct run_moment {
    uint32_t strand;
    uint32_t step;
    double at_s;
};

/* Records that a strand waited for another one: for the post of a message, for its arrival at a collective. */
struct run_wait {
    struct run_moment begin; /* of the wait */
    struct run_moment cause; /* the post or the arrival that it waited for */
    double late_s;           /* from begin to there */
    double end_s;            /* of the wait, transfer included */
};

/* Says when a burst began and ended, and which strand ended last. */
struct run_burst {
    double begin_s, end_s;
    uint32_t last;
};

struct simulation_result {
    double begin_s, end_s;       /* first begin of a strand, last end */
    double *rank_begin_s;        /* [n_ranks] */
    double *rank_end_s;          /* [n_ranks] */
    struct run_parts *predicted; /* [program->n_places] */
    struct run_burst *bursts;    /* [program->n_bursts] with begins and ends one after the other; NULL: the whole run */
    double *window_s;            /* [n_ranks * n_windows] predicted time inside messages; NULL: there are no windows */
    size_t n_events;
    struct run_wait *waits; /* [n_waits] by end_s, where they were to be kept */
    size_t n_waits;
    struct queue_search *searches; /* [n_ranks] of the queues of each rank, with the term queue; else NULL */
    /* The rest holds what the term memory gives, messages of collectives apart: */
    size_t n_contending;     /* messages of the program that may contend */
    size_t n_small;          /* of these smaller than 1 MB, which no calibration measures */
    double compute_slowdown; /* how many times as long computation takes while messages arrive at its socket */
};

/* Replays a checked program. Returns 0, or -1 with the reason: a level that the machine lacks, ranks that wait for
 * each other without end (with their calls), no memory. The result is released by the caller in any case. */
int simulate(const struct run_program *program, const struct machine *machine, const struct placement *placement,
             const struct simulation_options *options, struct simulation_result *result, struct error *error);
void simulation_result_release(struct simulation_result *result);
/* The same for the length of the run alone. */
int simulate_length(const struct run_program *program, const struct machine *machine, const struct placement *placement,
                    const struct simulation_options *options, double *run_s, struct error *error);

/* Adds up the parts of all places of a rank, or of all ranks: into[n_ranks]. */
void run_parts_by_rank(const struct run_program *program, const struct run_parts *by_place, struct run_parts *into);

#endif
