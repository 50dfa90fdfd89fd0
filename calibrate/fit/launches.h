/* Makes 95 % intervals by bootstrap over launches, for the fits of the single benchmarks: a launch has its own pages
 * and cores, which the residuals of one fit do not show. Launches are drawn with replacement, each with all of its
 * samples, and fitted again; the rules are those of fit_machine.h. */
#ifndef MPISTAIR_CALIBRATE_LAUNCHES_H
#define MPISTAIR_CALIBRATE_LAUNCHES_H

#include "calibrate/fit/fit_options.h"

/* Fits without making rows: fills values[] from sorted samples of one benchmark. Returns 0, or another value if these
 * samples give none. */
typedef int launches_estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                              double *values);

enum { LAUNCHES_VALUES_MAX = 4 };

/* Widens the intervals of values[n_values <= LAUNCHES_VALUES_MAX]; leaves them as they are where the benchmark's
 * samples are of one launch. Returns 0, or -1 without memory. */
int launches_widen(const struct samples *samples, enum benchmark benchmark, launches_estimate *estimate,
                   const struct fit_options *options, const void *context, struct line_value *const values[],
                   size_t n_values);

#endif
