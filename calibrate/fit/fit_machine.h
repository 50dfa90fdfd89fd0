/* Makes a machine table from raw samples.
 *
 * For each level and protocol, after share/doc/MODELS.md, The bandwidth table, rule 7 (T section II.B):
 *   - Each N has a line of time over size, one time a size (median or minimum of its samples).
 *   - bw, n = N, is N / slope of that line.
 *   - tau is the intercept of N = 2 for rendezvous (and where there is one protocol only), of N = 1 for short and
 *     eager, whose latency is a ping-pong's (B section 2); where that N was not measured, of the next one that was.
 *     Where the line of N = 2 does not show its intercept to 50 % (a network so slow that only its rate shows), it is
 *     that of the ping-pong.
 *   - bw, n = 1 of rendezvous comes from Algorithm 1's single message where there is one, else from the ping-pong.
 *   - What the points of a line do not show well comes from its neighbours (fit_machine.c).
 * A line with a negative latency is refitted through the origin. A line that does not grow with the size gives the
 * least bandwidth that the samples allow. The column `method` says so (`..-origin`, `..-flat`, `..-shared`,
 * `..-floor`).
 *
 * Intervals are the larger of two. One comes from the line's residuals (Student's t), which see times that do not lie
 * on a line. The other comes from a bootstrap (bootstrap.h), which sees samples that scatter, even if they do so alike
 * in all sizes of a launch. The bootstrap is the 2.5 % and 97.5 % quantile of the replicates. k launches are few, so
 * the distance from the value grows by Student's t with k - 1 degrees of freedom and by sqrt(k/(k - 1)) (Efron and
 * Tibshirani 1993, ch. 5: a bootstrap of k values has the variance of the plug-in estimate). Two launches tell little;
 * three and more are better. */
#ifndef MPISTAIR_CALIBRATE_FIT_MACHINE_H
#define MPISTAIR_CALIBRATE_FIT_MACHINE_H

#include <stdio.h>

#include "calibrate/fit/fits.h"
#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

/* Appends to machine what the sorted samples allow; prints one line on notes (may be NULL) for whatever was left out.
 * Returns 0, or -1 with the reason in error where nothing could be fitted. */
int fit_machine(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
                struct error *error);

#endif
