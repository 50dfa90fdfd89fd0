/* Finds the ten parameters of memory contention in the bandwidths of one side (share/doc/MODELS.md, Memory contention,
 * Calibration).
 *
 * D (section 3.1) takes maxima and minima of measured curves. With noise the largest of many alike values is too large
 * and stands anywhere among them, so:
 *   - A maximum is first reached at the smallest n that is not below what the values behind it say, within the 95 %
 *     interval of the difference.
 *   - The totals from N_par on lie on lines that meet at N_seq (D1): T_par, T_par2 and the last total are those of the
 *     lines through all of them, as far as chance explains their distances (pool_share), else as measured. The
 *     same holds for T_seq with one line.
 *   - alpha is the mean over the numbers of cores whose share is the smallest, within the interval.
 * Bandwidths are in B/s. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_ESTIMATE_H
#define MPISTAIR_CALIBRATE_MEMORY_ESTIMATE_H

#include <stddef.h>

#include "calibrate/machine/memory_quantity.h"

/* What was measured with one number of computing cores. */
struct memory_step {
    double n;
    double alone, alone_error;             /* computation alone, and the standard error > 0 */
    double computation, computation_error; /* together with the message */
    double message, message_error;         /* together with the computation */
};

/* Estimates values[MEMORY_PARAMETER_COUNT] from n_steps >= 1 steps by ascending n, the first with n = 1, and the
 * bandwidth of the message alone. */
void memory_estimate(const struct memory_step *steps, size_t n_steps, double message_alone,
                     double values[MEMORY_PARAMETER_COUNT]);

#endif
