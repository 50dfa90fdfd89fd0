/* Chooses, from what hwloc says of a machine and from the processors that a process may use, where the threads of the
 * memory benchmark run and on which NUMA nodes their data lie. It touches neither threads nor memory. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_SEATS_H
#define MPISTAIR_CALIBRATE_MEMORY_SEATS_H

#include <hwloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "share/base/level.h"

/* Says from how many cores of a socket on contention is seen: one receives, two compute. */
enum { MEMORY_CORES_NEEDED = 3 };

struct memory_seats {
    uint32_t n_cores;        /* those of the socket that the process may use */
    uint32_t n_cores_socket; /* all of the socket */
    unsigned *cores;         /* [n_cores] a hardware thread of each, by the system's number */
    uint32_t n_computing;    /* cores[0] to cores[n_computing - 1] may compute */
    unsigned receiving;      /* the hardware thread that receives */
    bool sender_is_bound;    /* sender and receiver are on one machine, and a core is left for the sender */
    unsigned sending;        /* its hardware thread */
    enum level level;        /* from sender to receiver */
    uint32_t numa_nodes;     /* those of the socket */
    uint32_t numa_all;       /* those of the machine */
    hwloc_obj_t *numa;       /* [numa_all] those of the socket first; they belong to the topology */
};

/* Says where the sender is. */
struct memory_sender {
    bool same_machine;
    cpu_set_t cpus; /* the processors that it may use, where it is on the same machine */
};

/* Chooses the first socket of which the process may use MEMORY_CORES_NEEDED cores, or else any. Each core gives one
 * hardware thread. The last core receives, the others compute. A sender on the same machine takes a core of another
 * socket, or else the last but one of three or more. NUMA nodes without processors, and those that have the same
 * processors as one before, are left out. */
void memory_seats_find(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, const struct memory_sender *sender,
                       struct memory_seats *seats);
void memory_seats_release(struct memory_seats *seats);

#endif
