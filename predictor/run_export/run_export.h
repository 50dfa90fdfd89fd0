/* Writes the program of a run for other simulators: as GOAL text for LogGOPSim, as a time-independent trace for SMPI
 * of SimGrid (man 5 mpistair, GOAL and TIME-INDEPENDENT TRACE). */
#ifndef MPISTAIR_PREDICTOR_RUN_EXPORT_H
#define MPISTAIR_PREDICTOR_RUN_EXPORT_H

#include "predictor/run/run_program.h"
#include "share/base/error.h"

/* Writes a checked program to the files named, of which either may be NULL. What a format cannot say is approximated,
 * counted, and noted on stderr. A file is complete or untouched. Returns 0, or -1 with the reason. */
int run_export(const struct run_program *program, const char *goal, const char *tit, struct error *error);

#endif
