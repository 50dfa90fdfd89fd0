/* Says who is to blame for the waiting in a run, and which way through the run determines how long it takes.
 *
 * D. Boehme, M. Geimer, F. Wolf and L. Arnold, Identifying the root causes of wait states in large-scale parallel
 * applications, ICPP 2010, doi:10.1109/ICPP.2010.18, charge a wait to what made the late one late: of its time
 * since both last met, what it computed beyond the one that waits, and what it waited itself, which is handed on. */
#ifndef MPISTAIR_PREDICTOR_RUN_BLAME_H
#define MPISTAIR_PREDICTOR_RUN_BLAME_H

#include "predictor/run/engine/simulate.h"

/* Is what computation before a call is to blame for, of the waits for one later arrival or post. */
struct run_charge {
    uint32_t step;  /* that was waited for */
    uint32_t place; /* on the rank of the step */
    double cost_s;
};

struct run_blame {
    double *cost_s;     /* [n_places] waiting of others that the place is to blame for, however far away */
    double *moved_s;    /* [n_places] the part of it for which no computation is to blame, but transfers and calls */
    double *critical_s; /* [n_places] time of the place on the critical path; they add up to the run */
    double *late_s;     /* [n_ranks] what a rank waited for others */
    struct run_charge *charges; /* [n_charges] all of cost_s but moved_s, by step and place, each pair once */
    size_t n_charges;
};

/* Fills *blame from a replay that kept its waits. */
void run_blame(const struct run_program *program, const struct simulation_options *options,
               const struct simulation_result *result, struct run_blame *blame);
void run_blame_release(struct run_blame *blame);

#endif
