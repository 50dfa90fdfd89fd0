/* A node's hwloc XML says what a processor belongs to; the events say on which processors a rank ran. A message's level
 * comes from where its two ranks were when they posted it, so that it is right for ranks that are not bound, too. The
 * place of a process as a whole is where it ran most. A placement by hand replaces all of this. */
#include "interpose/trace/gather/place.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/trace/gather/spools.h"
#include "share/base/memory.h"
#include "share/base/trial.h"

enum { PROCESSORS_LIMIT = 1 << 15, TOPOLOGY_READ_SECONDS = 10, TOPOLOGY_READ_BYTES = 1 << 28 };

/* Sets one member of the places of all processors of each object of a type. */
static int number_objects(hwloc_topology_t topology, hwloc_obj_type_t type, struct trace_node *node, size_t member)
{
    int objects = hwloc_get_nbobjs_by_type(topology, type);
    for (int i = 0; i < objects; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, (unsigned)i);
        if (object == NULL || object->cpuset == NULL)
            continue;
        int processor;
        hwloc_bitmap_foreach_begin(processor, object->cpuset)
        {
            if ((size_t)processor < node->n_places)
                memcpy((char *)&node->places[processor] + member, &i, sizeof i);
        }
        hwloc_bitmap_foreach_end();
    }
    return objects > 0 ? objects : 0;
}

/* Loads the topology of a text, for hwloc_topology_destroy; returns NULL if it is none. */
static hwloc_topology_t load_topology(const char *text)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    if (hwloc_topology_set_xmlbuffer(topology, text, (int)strlen(text) + 1) == 0 && hwloc_topology_load(topology) == 0)
        return topology;
    hwloc_topology_destroy(topology);
    return NULL;
}

/* True if hwloc can read the text. hwloc trusts its own files: a damaged one ends the process, fills the memory or
 * keeps it busy. */
static bool is_topology(const void *text)
{
    return load_topology(text) != NULL;
}

/* Reads the places of all processors from the text, which it takes over and frees in the end. */
static void read_places(struct trace_node *node, char *text)
{
    bool is_sound = trial_run(is_topology, text, TOPOLOGY_READ_SECONDS, TOPOLOGY_READ_BYTES) == 1;
    hwloc_topology_t topology = is_sound ? load_topology(text) : NULL;
    if (topology == NULL) {
        fprintf(stderr, "mpistair: the topology of host '%s' cannot be read; its sockets are not known\n", node->host);
        free(text);
        return;
    }
    node->topology = text;
    int last = hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(topology));
    if (last < 0 || last >= PROCESSORS_LIMIT) {
        hwloc_topology_destroy(topology);
        return;
    }
    node->n_places = (size_t)last + 1;
    node->places = xcalloc(node->n_places, sizeof *node->places);
    for (size_t i = 0; i < node->n_places; i++)
        node->places[i] = (struct trace_place){-1, -1, -1, -1};
    node->n_sockets = number_objects(topology, HWLOC_OBJ_PACKAGE, node, offsetof(struct trace_place, socket));
    number_objects(topology, HWLOC_OBJ_NUMANODE, node, offsetof(struct trace_place, numa));
    number_objects(topology, HWLOC_OBJ_L3CACHE, node, offsetof(struct trace_place, l3));
    node->n_cores = number_objects(topology, HWLOC_OBJ_CORE, node, offsetof(struct trace_place, core));
    node->n_processors = hwloc_bitmap_weight(hwloc_topology_get_topology_cpuset(topology));
    if (node->n_sockets == 0) {
        /* Some virtual machines show no package: then all processors are in one. */
        number_objects(topology, HWLOC_OBJ_MACHINE, node, offsetof(struct trace_place, socket));
        node->n_sockets = 1;
    }
    hwloc_topology_destroy(topology);
}

/* Returns the place of a processor of a node, known or not. */
static const struct trace_place *place_at(const struct trace_node *node, int cpu)
{
    return cpu >= 0 && (size_t)cpu < node->n_places ? &node->places[cpu] : NULL;
}

/* Finds where a process posted most of its operations: the socket first, then the processor in it. counts and
 * socket_counts come zeroed. */
static void place_process(const struct trace *trace, uint32_t rank, size_t *counts, size_t *socket_counts)
{
    struct trace_process *process = &trace->processes[rank];
    const struct trace_node *node = &trace->nodes[process->node];
    for (size_t i = 0; i < process->n_posts; i++) {
        const struct trace_place *place = place_at(node, process->posts[i].cpu);
        if (place == NULL || place->socket < 0)
            continue;
        counts[process->posts[i].cpu] += process->posts[i].posts;
        socket_counts[place->socket] += process->posts[i].posts;
    }
    size_t best = 0;
    for (size_t cpu = 0; cpu < node->n_places; cpu++) {
        const struct trace_place *place = &node->places[cpu];
        if (counts[cpu] == 0)
            continue;
        bool other = process->place.socket != place->socket;
        size_t here = socket_counts[place->socket];
        size_t there = process->place.socket < 0 ? 0 : socket_counts[process->place.socket];
        if (other ? here > there : counts[cpu] > best) {
            process->place = *place;
            process->processor = (int32_t)cpu;
            best = counts[cpu];
        }
    }
    for (size_t cpu = 0; cpu < node->n_places; cpu++) {
        if (counts[cpu] > 0)
            socket_counts[node->places[cpu].socket] = 0;
        counts[cpu] = 0;
    }
}

static void place_observed(struct trace *trace)
{
    size_t *counts = xcalloc(2 * PROCESSORS_LIMIT, sizeof *counts);
    for (uint32_t rank = 0; rank < (uint32_t)trace->world_size; rank++) {
        struct trace_process *process = &trace->processes[rank];
        process->placed = process->node;
        if (process->node != TRACE_NONE)
            place_process(trace, rank, counts, counts + PROCESSORS_LIMIT);
    }
    free(counts);
}

static bool share_cores(const struct trace_node *a, const struct trace_node *b)
{
    if (a->kernel_key == 0 || a->kernel_key != b->kernel_key)
        return false;
    bool share = false;
    for (size_t cpu = 0; cpu < a->n_places && cpu < b->n_places && !share; cpu++)
        share = a->places[cpu].core >= 0 && b->places[cpu].core >= 0;
    return share;
}

/* Finds the nodes that are containers of one kernel, and were not given cores of their own. */
static void find_machines(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->n_nodes; i++) {
        uint32_t first = 0;
        while (first < i && !share_cores(&trace->nodes[i], &trace->nodes[first]))
            first++;
        trace->nodes[i].machine = trace->nodes[first].machine;
    }
}

int places_find(struct trace *trace, const struct placement *placement, struct error *error)
{
    if (placement != NULL && placement->n_ranks != (size_t)trace->world_size)
        return error_set(error, "the placement has %zu ranks, the run %d: expected one line for each rank",
                         placement->n_ranks, trace->world_size);
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        struct trace_process *process = &trace->processes[rank];
        struct trace_node *node = process->spool == NULL ? NULL : &trace->nodes[process->node];
        if (node == NULL || node->topology != NULL)
            continue;
        char *text = companion_read(process->spool, process->spool->header.topology);
        if (text != NULL)
            read_places(node, text);
    }
    find_machines(trace);
    place_observed(trace);
    for (int32_t rank = 0; placement != NULL && rank < trace->world_size; rank++) {
        struct trace_process *process = &trace->processes[rank];
        process->placed = placement->node[rank];
        process->place = (struct trace_place){(int32_t)placement->socket[rank], -1, -1, -1};
        process->processor = -1;
        process->by_hand = true;
    }
    return 0;
}

/* Returns the socket from which an operation was posted. */
static int32_t socket_of(const struct trace *trace, const struct trace_operation *operation)
{
    const struct trace_process *process = &trace->processes[operation->rank];
    const struct trace_place *place =
        process->by_hand ? NULL : place_at(&trace->nodes[process->node], operation->cpu_post);
    return place != NULL && place->socket >= 0 ? place->socket : process->place.socket;
}

/* Returns the level between two ranks, that were on these sockets (-1: not known). */
static int32_t level_between(const struct trace *trace, uint32_t a, uint32_t b, int32_t socket_a, int32_t socket_b)
{
    if (a == b)
        return LEVEL_SELF;
    if (trace->processes[a].placed != trace->processes[b].placed)
        return LEVEL_INTER_NODE;
    if (socket_a < 0 || socket_b < 0)
        return -1;
    return socket_a == socket_b ? LEVEL_INTRA_SOCKET : LEVEL_INTER_SOCKET;
}

int32_t message_level(const struct trace *trace, const struct trace_operation *send,
                      const struct trace_operation *receive)
{
    return level_between(trace, send->rank, receive->rank, socket_of(trace, send), socket_of(trace, receive));
}

int32_t rank_level(const struct trace *trace, uint32_t from, uint32_t to)
{
    const struct trace_process *a = &trace->processes[from], *b = &trace->processes[to];
    if (from != to && (a->placed == TRACE_NONE || b->placed == TRACE_NONE))
        return -1;
    return level_between(trace, from, to, a->place.socket, b->place.socket);
}
