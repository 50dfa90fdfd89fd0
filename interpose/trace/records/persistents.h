/* Loads persistent requests: what MPI_..._init made, and which operations were started from it. */
#ifndef MPISTAIR_TRACE_PERSISTENT_H
#define MPISTAIR_TRACE_PERSISTENT_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

void persistent_load(struct loader *loader, const struct spool_persistent *record);
/* Puts what an operation has besides its own record into trace.origins. Returns its index, TRACE_NONE if there is
 * nothing. */
uint32_t origin_load(struct loader *loader, const struct spool_operation *record);
/* Sorts the requests of a process by time and links operations and collectives to them, once the process is read and
 * its stacks are resolved. */
void persistents_resolve(struct loader *loader);

/* Counts the partitioned requests of each envelope, by rank, in the order of their making. */
void persistents_number(struct trace *trace);

/* Writes the tables persistent and origin, once all operations are written. Returns 0, or -1: the database says why. */
int persistents_write(const struct trace *trace, sqlite3 *database);

#endif
