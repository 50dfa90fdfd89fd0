/* Finds 95 % intervals of a level's parameters by the bootstrap; fit_machine.h has the rules. */
#ifndef MPISTAIR_CALIBRATE_INTERVALS_H
#define MPISTAIR_CALIBRATE_INTERVALS_H

#include "calibrate/fit/estimate.h"
#include "calibrate/fit/resample.h"

/* Holds the parameters of all levels, and the thresholds with which they were estimated. */
struct level_estimates {
    struct fit_thresholds thresholds; /* n = 0: nothing was measured */
    struct estimates estimates;
};

/* Widens the intervals of all levels' estimates. Returns 0, or -1 without memory. */
int intervals_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                    const struct curves *curves, const struct fit_options *options);

/* Widens the interval of one value: replicates[n_replicates > 0] of it lose their order; factor is by what their
 * distance grows. */
void interval_widen(struct line_value *value, double *replicates, size_t n_replicates, double factor);
/* Sets the interval of one value to that of its replicates, with the same arguments; it holds the value. */
void interval_of_replicates(struct line_value *value, double *replicates, size_t n_replicates, double factor);
/* Returns by what the distance of a quantile grows where few launches were drawn from; 1 for one launch. */
double interval_few_launches(size_t n_launches);

enum { INTERVALS_REPLICATES = 200 }; /* unless the options say otherwise */

#endif
