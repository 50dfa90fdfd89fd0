/* Chooses, from what hwloc says of a machine and from the processors that a process may use, where the threads of the
 * memory benchmark run and on which NUMA nodes their data lie; and owns these data: a block for each computing core and
 * a buffer for messages on each NUMA node, bound there and touched before anything is measured. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_SEATS_H
#define MPISTAIR_CALIBRATE_MEMORY_SEATS_H

#include <hwloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/level.h"
#include "share/base/error.h"

/* Cores of a socket that show contention, at least: one receives, two compute. */
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

/* Where the sender is. */
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

struct memory_data {
    hwloc_topology_t topology;
    const struct memory_seats *seats;
    size_t block_bytes;
    size_t buffer_bytes;
    void **blocks;  /* [numa_all][n_computing]; NULL: not needed so far */
    void **buffers; /* [numa_all] */
};

/* Chooses the size of a block: some times the last cache of a core if large is set, and at most what leaves three
 * quarters of a NUMA node free. topology and seats are borrowed. */
void memory_data_make(hwloc_topology_t topology, const struct memory_seats *seats, size_t buffer_bytes, bool large,
                      struct memory_data *data);
void memory_data_release(struct memory_data *data);

/* Returns the blocks of the first n computing cores on a NUMA node, and the buffer on one; NULL with the reason where
 * there is no memory, or none can be bound there. */
void *const *memory_data_blocks(struct memory_data *data, uint32_t numa, uint32_t n, struct error *error);
void *memory_data_buffer(struct memory_data *data, uint32_t numa, struct error *error);

/* Returns the bytes of the last cache that the first core has; 0: not known. */
uint64_t memory_data_cache_bytes(const struct memory_data *data);

#endif
