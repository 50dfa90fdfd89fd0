/* Holds what trace_load keeps while it reads the records of one process; shared with the files that read the rarer
 * ones.
 *
 * Processes number their persistent requests, partitions and stacks for themselves. A record may lie before the one
 * that it names (in another thread's lane): such numbers are kept as they are and resolved once the process is read. */
#ifndef MPISTAIR_TRACE_LOADER_H
#define MPISTAIR_TRACE_LOADER_H

#include "interpose/trace/site/callsite.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/state/trace.h"

struct loader {
    struct trace *trace;
    struct communicator_table communicators;
    struct callsite_table callsites;
    struct map persistents; /* within one process: number -> trace.persistents */
    struct map partitions;  /* within one process: number -> trace.partitions */
    struct map stacks;      /* within one process: number -> trace.stacks */
    struct map stack_ids;   /* within the run: hash of the frames -> trace.stacks */
    const struct trace_node *node;
    struct trace_process *process;
    uint32_t rank;
    uint32_t lane;
    uint32_t partitioned; /* origin of the record just read if that was a partitioned operation, else TRACE_NONE */
    size_t clock_hint;
    uint64_t last_ticks; /* the latest ticks of the process so far */
    size_t first_origin; /* the process's first origin */
    size_t first_persistent;
    size_t first_partition_event;
};

/* Returns the node's time of a moment, which the process lived to see. */
static inline int64_t loader_ns(struct loader *loader, uint64_t ticks)
{
    int64_t ns = clock_ns(loader->node, loader->process, ticks, &loader->clock_hint);
    if (ns > loader->process->end_ns)
        loader->process->end_ns = ns;
    return ns;
}

/* Returns the time of what may not have happened (ticks 0). */
static inline int64_t loader_optional_ns(struct loader *loader, uint64_t ticks)
{
    return ticks == 0 ? TRACE_NO_TIME : loader_ns(loader, ticks);
}

/* Notes number -> index in the map of a process, only for the first record of that number; returns whether it was new.
 */
static inline bool loader_note(struct map *map, uint32_t number, size_t index)
{
    uint32_t *known = map_at(map, (struct map_key){number, 0, 0});
    if (*known != MAP_ABSENT)
        return false;
    *known = (uint32_t)index;
    return true;
}

/* Looks up the communicator of a record whose target is a rank in it; TRACE_NONE where the record names none. Returns
 * false, and counts damage, where there is no such communicator or rank. */
static inline bool loader_communicator(struct loader *loader, uint32_t index, int32_t target, uint32_t *communicator)
{
    *communicator = TRACE_NONE;
    if (index == SPOOL_NO_COMMUNICATOR)
        return true;
    *communicator = communicator_of(&loader->communicators, loader->trace, index);
    if (*communicator != TRACE_NONE && target < loader->trace->communicators[*communicator].size)
        return true;
    loader->process->damaged++;
    return false;
}

/* Returns what a number of the process stands for: TRACE_NONE for 0, and for one that no record has, which is damage
 * unless records are known to be lost. */
uint32_t loader_resolve(struct loader *loader, const struct map *map, uint32_t number);

#endif
