/* Reads protocol thresholds as the MPI itself tells them, through its tool interface (MPI_T). */
#ifndef MPISTAIR_CALIBRATE_THRESHOLDS_MPIT_H
#define MPISTAIR_CALIBRATE_THRESHOLDS_MPIT_H

#include "calibrate/machine/machine.h"

/* Returns, after MPI_Init, the smallest size in bytes that is sent by rendezvous at that level, 0 where the MPI does
 * not tell; the name of the control variable in *variable. */
double thresholds_rendezvous_bytes(enum level level, const char **variable);

#endif
