/* 95 % intervals of a level's parameters by the bootstrap; fit_machine.h has the rules. */
#ifndef MPISTAIR_CALIBRATE_INTERVALS_H
#define MPISTAIR_CALIBRATE_INTERVALS_H

#include "calibrate/fit/estimate.h"
#include "calibrate/fit/resample.h"

/* The parameters of all levels, and the thresholds that they were estimated with. */
struct level_estimates {
    struct fit_thresholds thresholds; /* n = 0: nothing was measured */
    struct estimates estimates;
};

/* Widens the intervals of all levels' estimates. 0, or -1 without memory. */
int intervals_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                    const struct curves *curves, const struct fit_options *options);

/* What it does to one value: replicates[n_replicates > 0] of it, their order is lost, and what their distance grows by.
 */
void interval_widen(struct line_value *value, double *replicates, size_t n_replicates, double factor);
/* What the distance of a quantile grows by where few launches were drawn from; 1 for one launch. */
double interval_few_launches(size_t n_launches);

enum { INTERVALS_REPLICATES = 200 }; /* unless the options say otherwise */

#endif
