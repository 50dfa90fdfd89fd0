/* Reads which configurations of the benchmark of fine-grained messaging a sweep measures (share/man/mpistair.5,
 * SWEEP): a line an option with its values, of which every combination is one. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_FILE_H
#define MPISTAIR_CALIBRATE_SWEEP_FILE_H

#include "calibrate/finegrain/sweep/sweep_combine.h"

/* Reads a file; values that it does not list are those of base, whose texts are borrowed. Returns 0, or -1 with the
 * reason and nothing to release: not readable, an option that there is not, a value that it does not take, no
 * combination that fits. */
int sweep_read(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error);

#endif
