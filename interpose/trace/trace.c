#include "trace.h"

#include <stdlib.h>

void *trace_grow(void *array, size_t n, size_t element_bytes)
{
    if (n != 0 && (n & (n - 1)) != 0)
        return array;
    size_t capacity = n == 0 ? 1 : 2 * n;
    return capacity > SIZE_MAX / element_bytes ? NULL : realloc(array, capacity * element_bytes);
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
    }
    for (size_t i = 0; i < trace->n_modules; i++) {
        free(trace->modules[i].path);
        free(trace->modules[i].build_id);
    }
    free(trace->processes);
    free(trace->nodes);
    free(trace->communicators);
    free(trace->operations);
    free(trace->calls);
    free(trace->collectives);
    free(trace->origins);
    free(trace->persistents);
    free(trace->partitions);
    free(trace->partition_events);
    free(trace->rma);
    free(trace->stacks);
    free(trace->frames);
    free(trace->callsites);
    free(trace->modules);
    free(trace->steps);
    free(trace->message_rounds);
    free(trace->rounds);
    free(trace->round_processes);
    free(trace->kinds);
    *trace = (struct trace){0};
}
