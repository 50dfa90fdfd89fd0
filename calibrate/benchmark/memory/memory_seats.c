/* With two threads on one core, or data on another node than is written, samples would measure something else. Seats
 * are chosen apart from measuring, so that tests can use made-up machines. A page lies where it is first touched, so
 * every block is bound to its NUMA node and touched at once: no iteration waits for a page, and no page lies
 * elsewhere. */
#include "calibrate/benchmark/memory/memory_seats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

/* Returns the type by which a machine without that kind of object counts. */
static hwloc_obj_type_t socket_type(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) > 0 ? HWLOC_OBJ_PACKAGE : HWLOC_OBJ_MACHINE;
}

static hwloc_obj_type_t core_type(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/* Returns the first hardware thread of a core that is allowed, -1 if none is. */
static int thread_of(hwloc_const_bitmap_t core, hwloc_const_bitmap_t allowed)
{
    int thread = hwloc_bitmap_first(core);
    while (thread >= 0 && !hwloc_bitmap_isset(allowed, (unsigned)thread))
        thread = hwloc_bitmap_next(core, thread);
    return thread;
}

/* Counts the cores of a socket, and those that are allowed, whose threads go to threads unless it is NULL. */
static uint32_t count_cores(hwloc_topology_t topology, hwloc_obj_t socket, hwloc_const_bitmap_t allowed, uint32_t *all,
                            unsigned *threads)
{
    uint32_t n = 0;
    *all = 0;
    for (hwloc_obj_t core = NULL;
         (core = hwloc_get_next_obj_inside_cpuset_by_type(topology, socket->cpuset, core_type(topology), core));) {
        int thread = thread_of(core->cpuset, allowed);
        ++*all;
        if (thread >= 0 && threads != NULL)
            threads[n] = (unsigned)thread;
        n += thread >= 0;
    }
    return n;
}

static hwloc_obj_t choose_socket(hwloc_topology_t topology, hwloc_const_bitmap_t allowed)
{
    hwloc_obj_t first = NULL;
    for (hwloc_obj_t socket = NULL;
         (socket = hwloc_get_next_obj_by_type(topology, socket_type(topology), socket)) != NULL;) {
        uint32_t all, n = count_cores(topology, socket, allowed, &all, NULL);
        if (n >= MEMORY_CORES_NEEDED)
            return socket;
        if (n > 0 && first == NULL)
            first = socket;
    }
    return first != NULL ? first : hwloc_get_obj_by_type(topology, socket_type(topology), 0);
}

static bool is_listed(const struct memory_seats *seats, hwloc_obj_t node)
{
    for (uint32_t i = 0; i < seats->numa_all; i++)
        if (hwloc_bitmap_isequal(seats->numa[i]->complete_cpuset, node->complete_cpuset))
            return true;
    return false;
}

/* Appends the NUMA nodes with processors of the socket, or those without. */
static void list_nodes(hwloc_topology_t topology, hwloc_obj_t socket, bool local, struct memory_seats *seats)
{
    for (hwloc_obj_t node = NULL; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != NULL;) {
        bool is_local = hwloc_bitmap_intersects(node->complete_cpuset, socket->complete_cpuset);
        if (is_local == local && !hwloc_bitmap_iszero(node->complete_cpuset) && !is_listed(seats, node))
            seats->numa[seats->numa_all++] = node;
    }
}

/* Finds a core outside of the socket that the sender may use. Returns its hardware thread, -1 if there is none. */
static int thread_elsewhere(hwloc_topology_t topology, hwloc_obj_t socket, hwloc_const_bitmap_t allowed)
{
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, core_type(topology), core)) != NULL;) {
        int thread = thread_of(core->cpuset, allowed);
        if (thread >= 0 && !hwloc_bitmap_intersects(core->cpuset, socket->cpuset))
            return thread;
    }
    return -1;
}

/* Gives a sender on the same machine a core of its own, where one is left. */
static void place_sender(hwloc_topology_t topology, hwloc_obj_t socket, const struct memory_sender *sender,
                         struct memory_seats *seats)
{
    hwloc_bitmap_t allowed = or_no_memory(hwloc_bitmap_alloc());
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &sender->cpus))
            hwloc_bitmap_set(allowed, i);
    int elsewhere = thread_elsewhere(topology, socket, allowed);
    unsigned last = seats->n_computing > 1 ? seats->cores[seats->n_computing - 1] : 0;
    seats->level = LEVEL_INTRA_SOCKET;
    if (elsewhere >= 0) {
        seats->level = LEVEL_INTER_SOCKET;
        seats->sender_is_bound = true;
        seats->sending = (unsigned)elsewhere;
    } else if (seats->n_computing > 1 && hwloc_bitmap_isset(allowed, last)) {
        seats->n_computing--;
        seats->sender_is_bound = true;
        seats->sending = last;
    }
    hwloc_bitmap_free(allowed);
}

void memory_seats_find(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, const struct memory_sender *sender,
                       struct memory_seats *seats)
{
    *seats = (struct memory_seats){.level = LEVEL_INTER_NODE};
    hwloc_obj_t socket = choose_socket(topology, allowed);
    int n_threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    int n_nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    seats->cores = xcalloc((size_t)n_threads, sizeof *seats->cores);
    seats->numa = xcalloc((size_t)n_nodes, sizeof(hwloc_obj_t));
    seats->n_cores = count_cores(topology, socket, allowed, &seats->n_cores_socket, seats->cores);
    if (seats->n_cores > 0) {
        seats->n_computing = seats->n_cores - 1;
        seats->receiving = seats->cores[seats->n_cores - 1];
    }
    list_nodes(topology, socket, true, seats);
    seats->numa_nodes = seats->numa_all;
    list_nodes(topology, socket, false, seats);
    if (sender->same_machine)
        place_sender(topology, socket, sender, seats);
}

void memory_seats_release(struct memory_seats *seats)
{
    free(seats->cores);
    free(seats->numa);
    *seats = (struct memory_seats){0};
}

#define MIB ((size_t)1 << 20)
/* Size of a block, B: an iteration takes some milliseconds, short within a sample, long against reading a clock. */
#define BLOCK_BYTES (32 * MIB)
/* Least size of a block, over that of the last cache, from which stores through caches reach the memory. */
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

/* Returns touched memory on a NUMA node. On a machine with one node nothing is bound. */
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
