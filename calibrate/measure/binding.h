/* Says how the ranks of a calibration are bound: a table holds for jobs that are bound alike. */
#ifndef MPISTAIR_CALIBRATE_BINDING_H
#define MPISTAIR_CALIBRATE_BINDING_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/placement.h"

enum { HOST_BYTES = 256 }; /* no less than MPI_MAX_PROCESSOR_NAME */

/* Says where one rank is, as it sees it itself. */
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
