/* Partitions of partitioned operations: when the first and the last were ready or had arrived, each on request. */
#ifndef MPISTAIR_TRACE_PARTITION_H
#define MPISTAIR_TRACE_PARTITION_H

#include <sqlite3.h>

#include "interpose/trace/rare/loader.h"

/* The record right behind that of its operation. */
void partitions_load(struct loader *loader, const struct spool_partitions *record);
void partition_load(struct loader *loader, const struct spool_partition *record);
/* Once the process is read. */
void partitions_resolve(struct loader *loader);

/* The table partition, once all operations are written. 0, or -1: the database says why. */
int partitions_write(const struct trace *trace, sqlite3 *database);

#endif
