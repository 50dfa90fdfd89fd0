/* Makes one file of a trace in shards. */
#ifndef MPISTAIR_TRACE_GATHER_SHARDS_H
#define MPISTAIR_TRACE_GATHER_SHARDS_H

#include <stddef.h>

#include "share/base/error.h"

/* Writes the trace as ingest would without shards, with what was added to it since; it may be output itself. *n_shards
 * becomes how many it has: of one without this copies it. Returns 0, or -1 with the reason and output as it was. */
int shards_gather(const char *trace, const char *output, size_t *n_shards, struct error *error);

#endif
