/* Finds where the ranks of a calibration are: node, socket, NUMA node and L3 cache of each, and so the level between
 * two of them and what two of a socket share.
 *
 * A node is what MPI_Get_processor_name calls it. A socket is the hwloc package of the processor on which the rank runs
 * while it asks (also in a topology that hwloc is told to take, HWLOC_XMLFILE or HWLOC_SYNTHETIC). NUMA node and L3 are
 * those that hold all processors on which the rank may run: a rank that may wander between caches has none. All are
 * hwloc's logical indexes. A placement given by hand (MPISTAIR_PLACEMENT=L.csv, read by rank 0) replaces all four. */
#ifndef MPISTAIR_CALIBRATE_PLACE_H
#define MPISTAIR_CALIBRATE_PLACE_H

#include <mpi.h>
#include <stdio.h>

#include "share/base/error.h"
#include "calibrate/machine/machine.h"
#include "share/base/placement.h"

/* Collective. Rank 0 says what was found, and how the ranks are bound, on notes (binding.h) unless it is NULL. Every
 * rank gets the whole placement, for placement_release. host[], which the caller frees, numbers the real hosts by first
 * appearance, also where a placement is given by hand: ranks of one host share a clock. Returns 0 everywhere, or -1
 * everywhere with the reason in rank 0's error. */
int place_find(MPI_Comm comm, FILE *notes, struct placement *placement, int **host, struct error *error);

#endif
