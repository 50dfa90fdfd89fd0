/* Owns the memory of the benchmark: a block for each computing core and a buffer for messages on each NUMA node, bound
 * there and touched before anything is measured. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_DATA_H
#define MPISTAIR_CALIBRATE_MEMORY_DATA_H

#include <hwloc.h>
#include <stddef.h>

#include "calibrate/benchmark/memory/memory_seats.h"
#include "share/base/error.h"

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
