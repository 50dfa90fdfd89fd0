/* Lets rates depend on what was under way when a message began: those that begin at the same moment count for each
 * other, in whatever order they come. */
#ifndef MPISTAIR_PREDICTOR_RUN_COHORT_H
#define MPISTAIR_PREDICTOR_RUN_COHORT_H

#include "predictor/run/laws/run_law.h"

/* Is a path's function, set: the messages of a bundle share its rate evenly. */
void run_cohort_set(struct run_share *share, const struct run_mover *mover, int change);

/* Takes a message that is marked into the cohort of its group. */
void run_cohort_join(struct run_share *share, uint32_t number, double now_s);
/* Takes note that a message goes. */
void run_cohort_leave(struct run_share *share, uint32_t number, double now_s);
/* Gives the messages of this moment their rates, as nothing more happens at it. */
void run_cohort_settle(struct run_share *share);

#endif
