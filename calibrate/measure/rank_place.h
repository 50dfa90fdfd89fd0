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
#include <sched.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"
#include "calibrate/machine/machine.h"
#include "share/base/placement.h"

/* Collective. Rank 0 says what was found, and how the ranks are bound, on notes unless it is NULL. Every
 * rank gets the whole placement, for placement_release. host[], which the caller frees, numbers the real hosts by first
 * appearance, also where a placement is given by hand: ranks of one host share a clock. Returns 0 everywhere, or -1
 * everywhere with the reason in rank 0's error. */
int place_find(MPI_Comm comm, FILE *notes, struct placement *placement, int **host, struct error *error);

/* How the ranks of a calibration are bound: a table holds for jobs that are bound alike. */

enum { HOST_BYTES = 256 }; /* no less than MPI_MAX_PROCESSOR_NAME */

/* Place of one rank, as the rank sees it. */
struct seat {
    char host[HOST_BYTES];
    cpu_set_t cpus;      /* processors on which it may run; none: not known */
    cpu_set_t cores;     /* the first processor of each core that has one of them */
    uint32_t processors; /* processors of its node */
    uint32_t socket;
    uint32_t numa;
    uint32_t l3;
};

/* Writes notes for mpistair calibrate; host[i] numbers the hosts of seats[i] from 0:
 *   place RANK NODE SOCKET NUMA L3 HOSTNAME CPUS    a line a rank; - for what is not known; CPUS as 0-3,8
 *   binding 8 ranks bound to a core each on 2 nodes
 *   oversubscribed 8 2                              ranks and cores of the fullest host, if it has fewer cores
 */
void binding_note(FILE *stream, const struct placement *placement, const struct seat *seats, const int *host);

/* Finds the processors on which this process may run, in cpus; returns how many, 0 if it is not known. */
int binding_processors(cpu_set_t *cpus);

#endif
