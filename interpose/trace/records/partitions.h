/* Loads the partitions of partitioned operations: when the first and the last were ready or had arrived, on request
 * each of them. */
#ifndef MPISTAIR_TRACE_PARTITION_H
#define MPISTAIR_TRACE_PARTITION_H

#include <sqlite3.h>

#include "interpose/trace/records/loader.h"

/* Loads the record right behind that of its operation. */
void partitions_load(struct loader *loader, const struct spool_partitions *record);
void partition_load(struct loader *loader, const struct spool_partition *record);
/* Resolves the numbers of partitions once the process is read. */
void partitions_resolve(struct loader *loader);

/* Writes the table partition, once all operations are written. Returns 0, or -1: the database says why. */
int partitions_write(const struct trace *trace, sqlite3 *database);

#endif
