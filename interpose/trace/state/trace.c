/* Owns the memory of a run between the readings: arrays grow by doubling, and operations come from a pool, so that
 * memory stays with what is open and not with the length of the run. */
#include "interpose/trace/state/trace.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/order.h"

/* A step asks how much of its time its rank spent inside MPI. Calls of several threads overlap, so they are kept as
 * disjoint intervals with running sums, and one search answers. */

/* One interval: time inside MPI before a moment is a sum of whole intervals and a part. */
struct mpi_interval {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t before_ns; /* time inside MPI before begin_ns */
};

void time_in_mpi_add(struct time_in_mpi *time, int64_t begin_ns, int64_t end_ns)
{
    struct mpi_interval *last = time->n > 0 ? &time->intervals[time->first + time->n - 1] : NULL;
    if (last != NULL && begin_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return;
    }
    struct mpi_interval added = {begin_ns, end_ns, last == NULL ? 0 : last->before_ns + last->end_ns - last->begin_ns};
    array_reserve(&time->intervals, &time->capacity, time->first + time->n + 1, sizeof *time->intervals);
    time->intervals[time->first + time->n++] = added;
}

int64_t time_in_mpi_before(const struct time_in_mpi *time, int64_t at_ns)
{
    if (time->n == 0)
        return 0;
    const struct mpi_interval *intervals = time->intervals + time->first, *last = &intervals[time->n - 1];
    /* Most questions are about what comes behind the last call, or was just added. */
    if (last->begin_ns >= at_ns) {
        size_t at = time->n > 4 && intervals[time->n - 4].begin_ns < at_ns ? time->n - 4 : 0;
        FIRST_BEYOND(at, time->n, intervals[at].begin_ns < at_ns);
        if (at == 0)
            return intervals[0].before_ns;
        last = &intervals[at - 1];
    }
    return last->before_ns + (at_ns < last->end_ns ? at_ns : last->end_ns) - last->begin_ns;
}

void time_in_mpi_forget(struct time_in_mpi *time, int64_t before_ns)
{
    while (time->n > 1 && time->intervals[time->first].end_ns < before_ns) {
        time->first++;
        time->n--;
    }
    if (time->first > time->n) {
        memmove(time->intervals, time->intervals + time->first, time->n * sizeof *time->intervals);
        time->first = 0;
    }
}

void time_in_mpi_release(struct time_in_mpi *time)
{
    free(time->intervals);
    *time = (struct time_in_mpi){0};
}

void trace_grow(void *array, size_t n, size_t element_bytes)
{
    if (n >= TRACE_NONE)
        no_memory(0);
    array_grow(array, n, element_bytes);
}

const struct trace_process *trace_first_process(const struct trace *trace)
{
    const struct trace_process *process = trace->processes;
    while (process->spool == NULL)
        process++;
    return process;
}

bool process_has_lane(const struct trace_process *process, uint32_t lane)
{
    size_t i = 0;
    while (i < process->n_lanes && process->lanes[i].number != lane)
        i++;
    return i < process->n_lanes;
}

uint32_t operation_new(struct trace *trace)
{
    uint32_t index = trace->first_free;
    if (index != TRACE_NONE) {
        trace->first_free = trace->operations[index].next;
    } else {
        trace_grow(&trace->operations, trace->n_operations, sizeof *trace->operations);
        index = (uint32_t)trace->n_operations++;
    }
    return index;
}

static void give_back(struct trace *trace, uint32_t index)
{
    struct trace_operation *operation = &trace->operations[index];
    if (!operation->passed || !operation->written)
        return;
    operation->next = trace->first_free;
    trace->first_free = index;
}

void operation_passed(struct trace *trace, uint32_t index)
{
    trace->operations[index].passed = true;
    give_back(trace, index);
}

void operation_written(struct trace *trace, uint32_t index)
{
    trace->operations[index].written = true;
    give_back(trace, index);
}

const char *function_name(uint16_t function)
{
    static const char *const names[] = {
#define NAME(name, family) "MPI_" #name,
        MPISTAIR_FUNCTIONS(NAME)
#undef NAME
    };
    return names[function];
}

enum mpistair_family function_family(uint16_t function)
{
    static const enum mpistair_family families[] = {
#define FAMILY(name, family) family,
        MPISTAIR_FUNCTIONS(FAMILY)
#undef FAMILY
    };
    return families[function];
}

bool function_is_of_file(uint16_t function)
{
    return IS_ONE_OF(function_family(function), FAMILY_FILE, FAMILY_FILE_ALL, FAMILY_FILE_REQUEST,
                     FAMILY_FILE_REQUEST_ALL, FAMILY_FILE_OPEN, FAMILY_FILE_CLOSE);
}

bool function_is_one_sided(uint16_t function)
{
    return IS_ONE_OF(function_family(function), FAMILY_RMA, FAMILY_RMA_REQUEST, FAMILY_WIN_CREATE, FAMILY_WIN_FREE,
                     FAMILY_WIN_TEST);
}

void trace_eager_limits(const struct trace *trace, int64_t eager_bytes[2])
{
    eager_bytes[0] = eager_bytes[1] = TRACE_NO_TIME;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct spool *spool = trace->processes[rank].spool;
        for (int i = 0; spool != NULL && i < 2; i++) {
            uint64_t bytes = i == 0 ? spool->header.eager_limit_bytes : spool->header.eager_limit_network_bytes;
            if (eager_bytes[i] == TRACE_NO_TIME && bytes > 0 && bytes <= INT64_MAX)
                eager_bytes[i] = (int64_t)bytes;
        }
    }
}

bool call_bounds(const struct trace_call *call)
{
    uint16_t function = call->function;
    if (call->sort == CALL_MARK) /* 0, 1 and 2 switch recording off, on, and flush */
        return call->peer < 0 || call->peer > 2;
    if (call->sort != CALL_COLLECTIVE || (call->flags & SPOOL_NONBLOCKING))
        return false;
    return function_family(function) == FAMILY_COMM_CREATE ||
           IS_ONE_OF(function, FN_Barrier, FN_Allgather, FN_Allgather_c, FN_Allgatherv, FN_Allgatherv_c, FN_Allreduce,
                     FN_Allreduce_c, FN_Alltoall, FN_Alltoall_c, FN_Alltoallv, FN_Alltoallv_c, FN_Alltoallw,
                     FN_Alltoallw_c, FN_Reduce_scatter, FN_Reduce_scatter_c, FN_Reduce_scatter_block,
                     FN_Reduce_scatter_block_c);
}

bool call_is_joint(const struct trace_call *call)
{
    enum mpistair_family family = function_family(call->function);
    if (call->sort == CALL_FILE)
        return family != FAMILY_FILE && family != FAMILY_FILE_REQUEST;
    return call->sort == CALL_COLLECTIVE ||
           (call->sort == CALL_ONE_SIDED &&
            (call->function == FN_Win_fence || IS_ONE_OF(family, FAMILY_WIN_CREATE, FAMILY_WIN_FREE)));
}

void trace_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->n_nodes; i++) {
        free(trace->nodes[i].pairs);
        free(trace->nodes[i].topology);
        free(trace->nodes[i].places);
    }
    for (size_t i = 0; i < trace->n_communicators; i++) {
        free(trace->communicators[i].name);
        free(trace->communicators[i].members);
    }
    for (size_t i = 0; i < trace->n_callsites; i++) {
        free(trace->callsites[i].function);
        free(trace->callsites[i].file);
        for (size_t k = 0; k < trace->callsites[i].n_callers; k++) {
            free(trace->callsites[i].callers[k].function);
            free(trace->callsites[i].callers[k].file);
        }
        free(trace->callsites[i].callers);
    }
    for (size_t i = 0; i < trace->n_modules; i++) {
        free(trace->modules[i].path);
        free(trace->modules[i].build_id);
        free(trace->modules[i].reason);
    }
    for (size_t i = 0; i < trace->n_regions; i++)
        free(trace->regions[i].name);
    map_release(&trace->region_ids);
    for (int32_t i = 0; trace->processes != NULL && i < trace->world_size; i++) {
        free(trace->processes[i].lanes);
        free(trace->processes[i].communicators);
        free(trace->processes[i].posts);
        free(trace->processes[i].regions);
        map_release(&trace->processes[i].callsites.sites);
        modules_release(&trace->processes[i].callsites.modules);
    }
    void *const arrays[] = {trace->processes,   trace->nodes,      trace->communicators,
                            trace->operations,  trace->calls,      trace->origins,
                            trace->persistents, trace->partitions, trace->partition_events,
                            trace->stacks,      trace->frames,     trace->callsites,
                            trace->modules,     trace->steps,      trace->offs,
                            trace->rejected,    trace->kinds,      trace->regions};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        free(arrays[i]);
    *trace = (struct trace){0};
}
