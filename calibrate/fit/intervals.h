/* 95 % intervals of a level's parameters by the bootstrap; fit_machine.h has the rules. */
#ifndef MPISTAIR_CALIBRATE_INTERVALS_H
#define MPISTAIR_CALIBRATE_INTERVALS_H

#include "estimate.h"
#include "resample.h"

/* The parameters of all levels, and the thresholds that they were estimated with. */
struct level_estimates {
    struct fit_thresholds thresholds; /* n = 0: nothing was measured */
    struct estimates estimates;
};

/* Widens the intervals of all levels' estimates. 0, or -1 without memory. */
int intervals_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                    const struct curves *curves, const struct fit_options *options);

#endif
