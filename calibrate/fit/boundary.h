/* Finds a size that separates two outcomes of a benchmark: `taken` below it, `refused` from it on (buffer, eager). */
#ifndef MPISTAIR_CALIBRATE_BOUNDARY_H
#define MPISTAIR_CALIBRATE_BOUNDARY_H

#include <stdbool.h>

#include "calibrate/samples/samples.h"

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
