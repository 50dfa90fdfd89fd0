/* Turns return addresses of a process into places in files, each distinct place once in the run. */
#ifndef MPISTAIR_TRACE_CALLSITE_H
#define MPISTAIR_TRACE_CALLSITE_H

#include "share/base/map.h"
#include "interpose/trace/memory/trace.h"

struct callsite_table {
    struct map ids;           /* (module, offset) -> trace.callsites */
    struct map modules;       /* hash of a path -> trace.modules */
    struct map addresses;     /* within one process: address -> trace.callsites; emptied per process */
    struct mapping *mappings; /* [n_mappings] of the process, by address */
    size_t n_mappings;
};

/* Reads the memory map of the next process; without one its addresses stay what they are. Returns 0, or -1 without
 * memory. */
int callsites_of_process(struct callsite_table *table, struct trace *trace, const struct spool *spool);
/* Returns the run's number of a return address of that process: TRACE_NONE for 0, and without memory. */
uint32_t callsite_of(struct callsite_table *table, struct trace *trace, uint64_t address);
void callsites_release(struct callsite_table *table);

#endif
