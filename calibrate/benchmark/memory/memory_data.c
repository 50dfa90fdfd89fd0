/* Pages are taken where they are first touched, so every block is bound before and touched at once: no iteration is to
 * wait for a page, and no page to lie elsewhere. */
#include "calibrate/benchmark/memory/memory_data.h"
#include "share/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
/* An iteration over that much takes some milliseconds: short within a sample, long against reading a clock. */
#define BLOCK_BYTES (32 * MIB)
/* Stores through caches are traffic of the memory only where a block is so many times as large. */
enum { CACHES = 4 };

uint64_t memory_data_cache_bytes(const struct memory_data *data)
{
    uint64_t bytes = 0;
    hwloc_obj_t object =
        data->seats->n_cores > 0 ? hwloc_get_pu_obj_by_os_index(data->topology, data->seats->cores[0]) : NULL;
    for (; object != NULL; object = object->parent)
        if (hwloc_obj_type_is_dcache(object->type))
            bytes = object->attr->cache.size;
    return bytes;
}

/* Returns the memory of the smallest node, 0 if it is not known. */
static uint64_t smallest_node_bytes(const struct memory_seats *seats)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < seats->numa_all; i++) {
        uint64_t own = seats->numa[i]->attr->numanode.local_memory;
        bytes = own > 0 && (bytes == 0 || own < bytes) ? own : bytes;
    }
    return bytes;
}

void memory_data_make(hwloc_topology_t topology, const struct memory_seats *seats, size_t buffer_bytes, bool large,
                      struct memory_data *data)
{
    *data = (struct memory_data){.topology = topology, .seats = seats, .buffer_bytes = buffer_bytes};
    size_t n_blocks = (size_t)seats->numa_all * seats->n_computing;
    data->blocks = xcalloc(n_blocks, sizeof *data->blocks);
    data->buffers = xcalloc(seats->numa_all, sizeof *data->buffers);
    size_t bytes = BLOCK_BYTES, cache_bytes = CACHES * (size_t)memory_data_cache_bytes(data);
    if (large && cache_bytes > bytes)
        bytes = cache_bytes;
    uint64_t most = smallest_node_bytes(seats) / 4 / (seats->n_computing > 0 ? seats->n_computing : 1);
    if (most > 0 && bytes > most)
        bytes = (size_t)most;
    data->block_bytes = bytes / MIB > 0 ? bytes / MIB * MIB : MIB;
}

void memory_data_release(struct memory_data *data)
{
    for (size_t i = 0; i < (size_t)data->seats->numa_all * data->seats->n_computing; i++)
        if (data->blocks[i] != NULL)
            hwloc_free(data->topology, data->blocks[i], data->block_bytes);
    for (uint32_t i = 0; i < data->seats->numa_all; i++)
        if (data->buffers[i] != NULL)
            hwloc_free(data->topology, data->buffers[i], data->buffer_bytes);
    free(data->blocks);
    free(data->buffers);
    *data = (struct memory_data){0};
}

/* Returns touched memory on a NUMA node. The only node of a machine has it without being asked. */
static void *allocate(const struct memory_data *data, uint32_t numa, size_t bytes, struct error *error)
{
    void *memory = hwloc_alloc_membind(data->topology, bytes, data->seats->numa[numa]->nodeset, HWLOC_MEMBIND_BIND,
                                       HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT);
    int failure = errno;
    if (memory == NULL && data->seats->numa_all == 1)
        memory = hwloc_alloc(data->topology, bytes);
    if (memory == NULL)
        error_set(error, "%zu MiB cannot be bound to NUMA node %u: %s", bytes / MIB, data->seats->numa[numa]->os_index,
                  strerror(failure));
    else
        memset(memory, 1, bytes);
    return memory;
}

void *const *memory_data_blocks(struct memory_data *data, uint32_t numa, uint32_t n, struct error *error)
{
    void **blocks = data->blocks + (size_t)numa * data->seats->n_computing;
    for (uint32_t i = 0; i < n; i++) {
        if (blocks[i] == NULL)
            blocks[i] = allocate(data, numa, data->block_bytes, error);
        if (blocks[i] == NULL)
            return NULL;
    }
    return blocks;
}

void *memory_data_buffer(struct memory_data *data, uint32_t numa, struct error *error)
{
    if (data->buffers[numa] == NULL)
        data->buffers[numa] = allocate(data, numa, data->buffer_bytes, error);
    return data->buffers[numa];
}
