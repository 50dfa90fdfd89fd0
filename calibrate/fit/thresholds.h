/* Finds which sizes a protocol serves, before its lines are fitted.
 *
 * There are three sources for where rendezvous begins: the probe (the smallest size from which crossed blocking sends
 * did not return without a receive), the MPI by MPI_T, and the samples themselves, whose curves of all N break at the
 * same sizes (thresholds.c). The probe sees what the job sees, so it is believed first; then the MPI; the curves last,
 * since a break may have other reasons (a cache, a pipeline's depth). All are reported, also if two are more than a
 * factor 2 apart. Only the curves show a second protocol below rendezvous. */
#ifndef MPISTAIR_CALIBRATE_THRESHOLDS_H
#define MPISTAIR_CALIBRATE_THRESHOLDS_H

#include <stdbool.h>

#include "calibrate/fit/fits.h"
#include "calibrate/samples/samples.h"

/* Finds the thresholds of every level that curves has: those given in options, else found. Levels of which only the
 * curves are known are cut at the same sizes, unless the samples are explained better by cuts of their own. Prints a
 * line a level on notes (may be NULL). Returns 0, or -1 with the reason in error. */
int fit_thresholds_find(const struct samples *samples, const struct curves *curves, const struct fit_options *options,
                        struct fit_thresholds thresholds[LEVEL_COUNT], FILE *notes, struct error *error);

/* Reads `auto` or `0,256,16384` (short, eager, rendezvous in order; a single 0: one protocol for every size) for all
 * levels. Returns 0, or -1 with what was expected in error. */
int fit_thresholds_parse(const char *text, struct fit_options *options, struct error *error);

/* Finds a size that separates two outcomes of a benchmark: `taken` below it, `refused` from it on (buffer, eager). */

struct boundary {
    double bytes; /* the smallest size that is refused, as far as the samples tell; infinity: none was refused */
    double low;   /* the true boundary lies in [low, high], for 95 % of the searches if there are several */
    double high;
    size_t n_samples;
};

/* Returns whether the level has samples of the benchmark; boundary is set then. */
bool boundary_find(const struct samples *samples, enum benchmark benchmark, enum level level,
                   struct boundary *boundary);

#endif
