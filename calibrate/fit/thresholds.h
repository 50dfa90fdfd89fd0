/* Which sizes a protocol serves, before its lines are fitted. */
#ifndef MPISTAIR_CALIBRATE_THRESHOLDS_H
#define MPISTAIR_CALIBRATE_THRESHOLDS_H

#include "fit_machine.h"

/* The thresholds of one level: those given in options, else found in the level's curve of a single message (the one
 * with the most sizes where there is none). 0, or -1 with the reason in error. */
int fit_thresholds_find(const struct curves *curves, enum machine_level level, const struct fit_options *options,
                        struct fit_thresholds *thresholds, struct error *error);

#endif
