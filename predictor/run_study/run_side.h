/* Holds a run replayed as it is, as it would be on an ideal network, and as it would be otherwise: what
 * `mpistair replay` shows and stores. The analyses below fill it, for run_study.c. */
#ifndef MPISTAIR_PREDICTOR_RUN_SIDE_H
#define MPISTAIR_PREDICTOR_RUN_SIDE_H

#include "interpose/sums/whole.h"
#include "predictor/run/engine/run_blame.h"
#include "predictor/run/run_efficiency.h"
#include "predictor/options/run_options.h"
#include "predictor/run/engine/simulate.h"
#include "predictor/run_study/run_windows.h"
#include "predictor/terms/interval.h"

/* Holds one replay with what it came from. */
struct run_side {
    struct machine machine;
    struct placement placement;
    struct simulation_options options;
    double *scale; /* [n_places], or NULL */
    struct simulation_result result;
    struct run_parts *by_rank; /* [n_ranks] */
};

/* Says what a search for places found. */
struct run_placement_found {
    double start_s, best_s;
    size_t n_replays;
    bool timed_out;
};

/* Says what a row of the machine table is worth. */
struct run_sensitivity {
    const struct machine_parameter *row; /* of before.machine */
    double run_s;                        /* change of the run time when the value grows by SENSITIVITY_STEP */
    double elasticity;                   /* relative change of the run time per relative change of the value */
};

/* Says what of the network between nodes makes the run longer by a share of it. */
struct run_tolerance {
    double longer;  /* 0.01, ... */
    double change;  /* seconds added to the latency, or the factor by which bandwidth is lower; NaN: none does */
    double on_path; /* mean number of times that what is added counts in the run; NaN with change, and of bandwidth */
};
enum { RUN_TOLERANCES = 3 };

struct run_intervals {
    struct time_interval before, after, change; /* after, change: only with a what-if */
};

struct run_study {
    const struct run_options *options;
    struct run_program program;
    struct run_parts *measured_by_rank; /* [n_ranks] */
    struct run_side before, after;      /* after: only with a what-if */
    struct run_messages messages;
    struct run_windows windows;
    struct run_placement_found found; /* with --best-placement */
    struct run_blame blame;
    struct run_efficiencies measured, predicted, otherwise;
    double *ideal_inside_s; /* [n_places] time inside MPI, measured computation on an ideal network; NULL: not known */
    struct whole whole;     /* what the trace has of the run; without its times no efficiencies */
    struct run_sensitivity *sensitivities; /* [n_sensitivities], the largest first */
    size_t n_sensitivities;
    struct run_tolerance tolerances[RUN_TOLERANCES];
    size_t n_between;      /* messages between ranks */
    bool between_nodes;    /* any message that the replay knows goes between nodes */
    bool recorded_between; /* so do collectives, of recorded length */
    size_t n_cached;       /* messages whose buffers are taken to be in caches */
    bool in_memory;        /* none was looked at: the run is long, and nobody asked */
    struct run_intervals
        *intervals; /* [n_ranks + 1] of the run, then of the ranks; NULL: not asked for, or not known */
};

/* run_cached.c: flags the program's messages whose buffers are in caches, as the options say; before is not replayed
 * yet. */
int run_cached(struct run_study *study, struct error *error);

/* run_ideal.c: compute the efficiencies of a side that was replayed, and those of what was measured (by_rank), with one
 * more replay each. inside_s[n_places] gets the time of each place inside MPI on the ideal network, if it is not NULL.
 * Return 0, or -1 with the reason. */
int run_efficiencies_predict(const struct run_program *program, const struct run_side *side,
                             struct run_efficiencies *predicted, struct error *error);
int run_efficiencies_measure(struct run_program *program, const struct run_side *side, const struct run_parts *by_rank,
                             struct run_efficiencies *measured, double *inside_s, struct error *error);

/* run_placement.c: looks for places of the ranks that make the other side's run shorter, as its replay judges. Fills
 * after.placement, which has room, with the places of before, each as often as there. It tries the arrangements by rule
 * and the partitioner's, then exchanges the places of two ranks as long as that helps, within the time of the options.
 * Sets the run times before and after, best_s <= start_s, and how many replays it took. Returns 0, or -1 with the
 * reason: the places of before cannot be replayed. */
int run_placement_search(struct run_study *study, struct error *error);

/* run_sensitivity.c: fills the study's sensitivities. */
int run_sensitivity(struct run_study *study, struct error *error);

/* run_tolerance.c: fills the study's tolerances. Returns 0, or -1 with the reason. */
int run_tolerance(struct run_study *study, struct error *error);

/* run_interval.c: fills the study's intervals, where the table has any. */
int run_intervals(struct run_study *study, struct error *error);

/* Returns run_s of a side. */
static inline double run_side_s(const struct run_side *side)
{
    return side->result.end_s - side->result.begin_s;
}
/* Returns the sum of a rank's parts from `from` to `to`. */
static inline double run_parts_sum(const struct run_parts *parts, enum run_part from, enum run_part to)
{
    double sum_s = 0;
    for (enum run_part part = from; part <= to; part++)
        sum_s += parts->part_s[part];
    return sum_s;
}

#endif
