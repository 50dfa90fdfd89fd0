/* The shards of a trace (interpose/database/shards.h) from the first byte to their names. */
#ifndef MPISTAIR_TRACE_WRITE_SHARDS_H
#define MPISTAIR_TRACE_WRITE_SHARDS_H

#include <sys/types.h>

#include "interpose/database/shards.h"
#include "interpose/trace/rows/sink.h"
#include "interpose/trace/state/trace.h"
#include "share/base/error.h"
#include "share/base/output_file.h"

/* Shards of a trace that is replaced: those that bear its name. */
struct old_shards {
    char **paths; /* [n] */
    size_t n;
};

/* Finds them before the trace is replaced; there need not be a trace at path. */
void old_shards_find(struct old_shards *old, const char *path);
void old_shards_remove(const struct old_shards *old);
void old_shards_release(struct old_shards *old);

struct shard_file {
    struct output_file file;
    char *name; /* once it is committed, else NULL */
    int64_t first_rank, last_rank;
};

struct shard_files {
    struct sink_shards rows;  /* their connections, and the division of ranks */
    struct shard_file *files; /* [rows.n] */
    char key[64];             /* of this ingest */
};

/* Divides the ranks into n ranges of about equal numbers of operations (n 0: as many as the run is long for; 1: none),
 * and opens a file for each beside path, or in the folder `unfinished`. mode: of the files, 0: that of others.
 * Returns 0, or -1 with the reason. */
int shard_files_open(struct shard_files *files, const struct trace *trace, size_t n, const char *path,
                     const char *unfinished, mode_t mode, struct error *error);
/* Makes the tables in all, and virtual ones in trace.db, whose tables are empty. Returns 0, or -1: a database says
 * why. */
int shard_files_begin(struct shard_files *files, sqlite3 *database);
/* Ends all databases, by so many threads, and lists them in trace.db. Returns 0, or -1: a database says why. */
int shard_files_finish(struct shard_files *files, const struct sink *sink, size_t jobs);
/* Returns the connection that has failed; where no shard's has, that of trace.db. */
sqlite3 *shard_files_failed(const struct shard_files *files, sqlite3 *database);
/* Gives the files their names; a signal removes them until they are kept. Returns 0, or -1 with the reason: then none
 * is there. */
int shard_files_commit(struct shard_files *files, struct error *error);
/* Keeps those that were committed, as trace.db was. */
void shard_files_keep(const struct shard_files *files);
/* Removes them, as trace.db was not. */
void shard_files_take_back(const struct shard_files *files);
/* Discards what was not committed. */
void shard_files_release(struct shard_files *files);

#endif
