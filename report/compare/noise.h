/* How large a change between two runs, or two groups of runs, must be to be more than noise.
 *
 * Two runs: span by span the differences are taken. Their mean without the two largest and the two smallest has a
 * standard error (Tukey and McLaughlin), which is widened where neighbouring spans are alike (the effective number of
 * samples of a process of first order). The noise is that times Student's t, plus the floor: what launches of one job
 * differ by.
 *
 * More runs: the spread of the runs' sums is the noise. Since few runs show little of it, it is joined with the one
 * that the floor presumes (a standard deviation of half the floor), weighed as NOISE_PRESUMED more runs. */
#ifndef MPISTAIR_COMPARE_NOISE_H
#define MPISTAIR_COMPARE_NOISE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/compare/profile.h"

enum { NOISE_PRESUMED = 4, NOISE_TRIMMED = 2 };

/* A quantity in one run. */
struct noise_sample {
    double span_s[PROFILE_SPANS];
    double floor_s; /* presumed to be different in the next launch of the same job; at least 0 */
    bool present;
};

struct noise_result {
    double a_s, b_s; /* means over the runs of a group; NaN: none has it */
    double change_s; /* b_s - a_s; NaN where one of them is */
    double noise_s;  /* what a change must exceed; NaN: not known */
    double steady_s; /* of two runs: the change without its NOISE_TRIMMED largest and smallest spans, which must exceed
                      * it as well, since a change of some spans alone is not one of the site; else NaN */
    bool above;
};

/* Compares samples[n_a] with samples[n_a .. n_a + n_b]. probability: of a change above noise where there is none.
 * groups: how many of the spans are independent, PROFILE_FEW_CALLS to PROFILE_SPANS; fewer: nothing is known. */
struct noise_result noise_compare(const struct noise_sample *samples, size_t n_a, size_t n_b, size_t groups,
                                  double probability);

#endif
