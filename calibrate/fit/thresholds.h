/* Which sizes a protocol serves, before its lines are fitted. */
#ifndef MPISTAIR_CALIBRATE_THRESHOLDS_H
#define MPISTAIR_CALIBRATE_THRESHOLDS_H

#include "fit_machine.h"

/* The thresholds of every level that curves has: those given in options, else found in the level's curve of a single
 * message (the one with the most sizes where there is none). Levels of which the MPI tells nothing are cut at the same
 * sizes, unless the samples are explained better by cuts of their own. 0, or -1 with the reason in error. */
int fit_thresholds_find(const struct curves *curves, const struct fit_options *options,
                        struct fit_thresholds thresholds[LEVEL_COUNT], struct error *error);

#endif
