/* Estimates the parameters of one level from its curves: a line for each curve and protocol, and the rows that follow
 * from the lines.
 *
 * fit_machine.h says which line gives which row. Three things that a line's own points do not show well come from its
 * neighbours, with relative weights only (ordinary least squares reproduce published tables):
 *   - Below rendezvous times hardly grow, and a slope of few sizes is known to 20 % where its machine is known to 2. So
 *     N processes are taken to be slower by one factor at all sizes: slope over time is then the same for all N
 *     (Hockney's half-performance length). The slope of short messages is taken to be that of eager ones, as far as the
 *     points do not say otherwise (pool_share; `-shared` where most of the slope comes from there).
 *   - A line of few points takes the variance of all points of its curve for its intervals.
 *   - The latency of a protocol is not below that of the protocol of smaller messages: whatever the sender does before,
 *     the last byte crosses the same wires, and a rendezvous needs a round trip more (H Table III has them rising at
 *     every level). A shaped network lets a burst of bytes pass unshaped, so the lines behind it would begin below 0:
 *     the intercept is then that of the protocol before (`-floor`).
 * Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_ESTIMATE_H
#define MPISTAIR_CALIBRATE_ESTIMATE_H

#include <stdio.h>

#include "calibrate/fit/fits.h"

struct estimate {
    enum machine_protocol protocol;
    uint64_t n;              /* processes that share the bandwidth; MACHINE_NO_N: the latency */
    struct line_value value; /* s; of a bandwidth the slope, s/B of one process */
    enum line_kind kind;
    size_t samples;
};

struct estimates {
    struct estimate *estimates; /* [n_estimates] by protocol; for each the latency first, then by n */
    size_t n_estimates;
};

/* Estimates of all levels, and the thresholds with which they were made. */
struct level_estimates {
    struct fit_thresholds thresholds; /* n = 0: nothing was measured */
    struct estimates estimates;
};

/* Estimates the rows. Which rows there are depends on the sizes that were measured, and on which lines their times
 * allow: with other times, as in a resampling, there may be others. What cannot be fitted is said on notes (may be
 * NULL). */
struct estimates estimate_level(const struct curves *curves, enum level level, const struct fit_thresholds *thresholds,
                                const struct fit_options *options, FILE *notes);
/* Widens the intervals of all levels' estimates by the bootstrap. */
void estimates_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                     const struct curves *curves, const struct fit_options *options);
void estimates_release(struct estimates *estimates);

#endif
