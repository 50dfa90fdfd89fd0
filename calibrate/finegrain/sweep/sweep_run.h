/* Measures the configurations of a sweep, one launch of the benchmark each, in random order. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_RUN_H
#define MPISTAIR_CALIBRATE_SWEEP_RUN_H

#include "calibrate/finegrain/finegrain_job.h"

/* Measures what has no row in the file at `path` yet, and adds it there. base: what the sweep file does not list;
 * its seed begins the order, too. The launcher's words are set. What is left shows on stderr where that is a
 * terminal. Says on stderr what was left out and what was measured. Returns the exit code, after saying what was
 * wrong. */
int sweep_run(const char *sweep_file, const struct finegrain_config *base, struct launcher *launcher, const char *path);

#endif
