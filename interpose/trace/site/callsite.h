/* Turns return addresses of a process into places in files, each distinct place once in the run. */
#ifndef MPISTAIR_TRACE_CALLSITE_H
#define MPISTAIR_TRACE_CALLSITE_H

#include "share/base/map.h"
#include "interpose/trace/state/trace.h"

struct callsite_table {
    struct map ids;                   /* (module, offset, region) -> trace.callsites */
    struct map modules;               /* hash of a path and of what tells its file from others -> trace.modules */
    struct trace_process *owner;      /* the present process */
    struct process_callsites process; /* the present one's; emptied per process */
};

/* Reads the history of the modules of the next process; without one its addresses stay what they are. */
void callsites_of_process(struct callsite_table *table, struct trace *trace, struct trace_process *process);

/* An address has the number of a region above SPOOL_SITE_BITS, as sites of records have. */

/* Returns the run's number of a return address of that process at a time: TRACE_NONE for 0. */
uint32_t callsite_of(struct callsite_table *table, struct trace *trace, uint64_t address, uint64_t ticks);

/* Does that for calls between two times: what was not the same at both is not known. */
uint32_t callsite_of_sum(struct callsite_table *table, struct trace *trace, uint64_t address, uint64_t first_ticks,
                         uint64_t last_ticks);

/* Does that for calls at any time, as callsite_find_any finds it. */
void callsite_of_any(struct callsite_table *table, struct trace *trace, uint64_t address);

/* True if the same lay at the address at all times, or if it is none. */
bool callsite_is_settled(const struct callsite_table *table, uint64_t address);

/* Hands over what is needed to find the call sites of the process again. */
struct process_callsites callsites_take(struct callsite_table *table);

/* Finds the number again that callsite_of, or callsite_of_sum, gave; TRACE_NONE without one. */
uint32_t callsite_find(const struct process_callsites *process, uint64_t address, uint64_t ticks);
uint32_t callsite_find_sum(const struct process_callsites *process, uint64_t address, uint64_t first_ticks,
                           uint64_t last_ticks);

/* Finds it for calls at any time: TRACE_NONE where several modules lay at the address. */
uint32_t callsite_find_any(const struct process_callsites *process, uint64_t address);

void callsites_release(struct callsite_table *table);

#endif
