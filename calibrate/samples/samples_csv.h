/* Reads the raw samples of a calibration from a file (mpistair(5)). */
#ifndef MPISTAIR_CALIBRATE_SAMPLES_CSV_H
#define MPISTAIR_CALIBRATE_SAMPLES_CSV_H

#include "calibrate/samples/samples.h"

/* Reads a file. Returns 0, or -1 with file:line and what was expected in error, and samples untouched. The result is
 * sorted. */
int samples_read_csv(const char *path, struct samples *samples, struct error *error);

#endif
