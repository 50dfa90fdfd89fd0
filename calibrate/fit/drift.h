/* How the machine's own speed goes up and down, and how much of a calibration was disturbed: what a table is
 * worth.
 *
 * The samples of a minute say how well the speed of that minute is known, not how fast the machine is in another one.
 * The probes (probing.h) say that: the level of each is one that the machine had, and may have again. A value v whose
 * interval from its own samples is [l, h] gets
 *
 *   v - sqrt((v - l)^2 + d^2),   v + sqrt((h - v)^2 + d^2),   d = t s v sqrt(1 + 1/n)
 *
 * with s the relative standard deviation of the n probes without a disturbance and t the 97.5 % quantile of Student's t
 * with n - 1 degrees of freedom: d is half a 95 % prediction interval for one more such level (G. J. Hahn and W. Q.
 * Meeker, Statistical Intervals, 1991, section 4.2). Independent errors add in quadrature. Latencies and steps through
 * queues take s of the small message, rates and costs of a byte that of the large one; thresholds and buffers are
 * limits of the MPI and do not drift. */
#ifndef MPISTAIR_CALIBRATE_DRIFT_H
#define MPISTAIR_CALIBRATE_DRIFT_H

#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

/* Limits from which on a calibration is of no use, as from DISTURBED_MAX on (samples.h): share of the processor time
 * that its ranks wanted and others had, and relative standard deviation of a level. */
#define DRIFT_WAITED_MAX 0.5
#define DRIFT_LEVEL_MAX  0.2

/* The drift; a value is NaN where it is not known, as with samples of earlier versions. */
struct drift {
    double small; /* relative standard deviation of the time of a message of PROBING_SMALL_BYTES to oneself */
    double large; /* the same for PROBING_LARGE_BYTES */
    size_t n_probes;
    double disturbed;   /* share of the samples, those included that were repeated */
    double never_quiet; /* share of what was measured that has no other samples */
    double waited;      /* share of the processor time that ranks wanted and others had; mean over the epochs */
    double steal;       /* share of the processors' time that the hypervisor took */
};

void drift_find(const struct samples *samples, struct drift *drift);
/* Widens the intervals of the rows and appends rows `any any drift_small - VALUE 1`, drift_large, disturbed, waited,
 * steal for what is known. */
void drift_apply(const struct drift *drift, struct machine *machine);
/* Judges the calibration. Returns 0, or -1 with what was measured, and the benchmarks that were disturbed most, where
 * it is of no use. */
int drift_check(const struct drift *drift, const struct samples *samples, struct error *error);

#endif
