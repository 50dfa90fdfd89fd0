/* Goes through all single messages or calls of a trace, several threads side by side: each reads some shards, or of a
 * trace in one file a range of its rows, without the virtual tables over all. Of a part of a run, whose rows are views
 * of the connection, there is one thread.
 *
 *     row_parts_init(&parts, database, path, error)
 *     side_by_side(parts.n, 0, job, ...)     each job: row_parts_read(&parts, number, ...)
 *     row_parts_release(&parts)
 */
#ifndef MPISTAIR_DATABASE_ROW_PARTS_H
#define MPISTAIR_DATABASE_ROW_PARTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/database/shards.h"
#include "share/base/error.h"

struct row_parts {
    sqlite3 *database;
    const char *path;           /* names the trace in errors */
    struct shards shards;       /* none: the trace is one file */
    bool is_view;               /* the connection has views in front of the rows */
    size_t n;                   /* parts, the same with any number of threads */
    int64_t last[SHARD_TABLES]; /* largest numbers of rows, of a trace in one file */
};

/* Finds the parts; database, path live as long. Returns 0, or -1 with the reason. row_parts_release afterwards. */
int row_parts_init(struct row_parts *parts, sqlite3 *database, const char *path, struct error *error);
void row_parts_release(struct row_parts *parts);

/* How rows are read. */
struct row_reader {
    int table;           /* SHARD_MESSAGES or SHARD_CALLS */
    const char *columns; /* behind them comes the row's number, NULL where it has none */
    const char *where;   /* NULL: all rows */
    bool by_index;       /* an index finds what `where` asks for: rows of one file are not divided */
    bool of_ranks;       /* rows of ranks first to last alone are wanted, by which shards are divided */
    int64_t first_rank, last_rank;
    /* Takes a row. Returns 0, or -1 with the reason. */
    int (*take)(void *context, sqlite3_stmt *row, struct error *error);
    /* Adds what `where` names to a connection; NULL: nothing. */
    int (*prepare)(void *context, sqlite3 *database);
};

/* Copies the rows that the reader's where, by_index, ranks and prepare name to the temporary table into, which is made:
 * with the columns of the table, and id, their number, by which they are ordered. Returns 0, or -1 with the reason. */
int row_parts_copy(const struct row_parts *parts, const struct row_reader *reader, const char *into, void *context,
                   struct error *error);

/* Reads the rows of a part, of each file in their order. Returns 0, or -1 with the reason. */
int row_parts_read(const struct row_parts *parts, size_t number, const struct row_reader *reader, void *context,
                   struct error *error);

#endif
