/* Runs a configuration of the benchmark of fine-grained messaging under the user's launcher. */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_JOB_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_JOB_H

#include "calibrate/finegrain/finegrain_row.h"
#include "calibrate/job/launcher.h"

/* Measures a configuration. The times of arrivals of a trace go through a file in this folder, where ranks on other
 * nodes find it as well. The launcher is identified. Returns 0 with samples for finegrain_samples_release(); or -1 with
 * the reason, and in *code the exit code: the program's, 1, or 128 and the signal that ended it. */
int finegrain_job_run(const struct launcher *launcher, const struct finegrain_config *config,
                      struct finegrain_samples *samples, int *code, struct error *error);

#endif
