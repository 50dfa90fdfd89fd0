/* Makes up platforms of memory contention, measures them through the model's own curves with noise on each sample, and
 * fits what was measured.
 *
 * The platforms are drawn as those of D's Tables 3 to 11 are: cores, bandwidths, what the totals are to each other, and
 * what a core more loses, over what a core alone has. Each side has the parameters that D 3.1 reads from its own curves
 * without noise: a table made by measurement has such ones, since of alike totals the smallest number of cores counts.
 * A point gets as many samples as the benchmark takes. */
#ifndef MPISTAIR_TESTS_MEMORY_MADE_H
#define MPISTAIR_TESTS_MEMORY_MADE_H

#include <stdbool.h>

#include "calibrate/benchmark/memory/memory_plan.h"
#include "predictor/models/memory_contention.h"
#include "share/base/random.h"

/* Is the standard error of a median of so many samples, relative, of which each has the relative noise (normal). */
#define MADE_MEDIAN_ERROR(noise) (1.2533141 * (noise) / sqrt(MEMORY_SAMPLES)) /* sqrt(pi / 2) */

/* Says how platforms are measured. */
struct made_measuring {
    struct twister *random;
    double noise;           /* relative standard deviation of a sample */
    bool skips_beyond_peak; /* leaves out n between N_seq + 1 and the last */
};

/* Holds bandwidths without noise, by the number of cores. */
struct made_curve {
    double alone[MEMORY_MAX_CORES], total[MEMORY_MAX_CORES], message[MEMORY_MAX_CORES];
};

/* Holds what the table says of a side's losses a core: [0] left, [1] right of N_seq. */
struct made_intervals {
    double low[2], high[2];
};

struct made_fit {
    struct memory_model model;
    struct made_intervals local, remote;
};

/* Fills a side's curves for 1 .. cores < MEMORY_MAX_CORES. */
void made_curves(const struct memory_side *side, uint32_t cores, struct made_curve *curve);
/* Returns the smallest n of 1 .. cores whose value is the largest, or misses it by no more than tie, relative. */
uint32_t made_first_of_largest(const double *values, uint32_t cores, double tie);
/* Says whether that n is measured. */
bool made_is_measured(const struct made_measuring *measuring, const struct memory_side *side, uint32_t cores,
                      uint32_t n);
/* Draws a platform of 14 to 32 cores. */
struct memory_model made_draw(struct twister *random);
/* Measures, writes, reads, fits, and reads as the model does; ends the test where that fails. */
struct made_fit made_fitted(const struct made_measuring *measuring, const struct memory_model *model);

#endif
