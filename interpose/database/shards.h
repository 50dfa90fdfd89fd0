/* A trace of many operations has its rows of single calls and messages in files of their own, the shards, each with
 * those of a range of ranks. trace.db has the table shard, which lists them, and virtual tables of the same names and
 * columns (shard_rows.h). */
#ifndef MPISTAIR_DATABASE_SHARDS_H
#define MPISTAIR_DATABASE_SHARDS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

/* message_row by dst, call_row and round_process by rank. */
enum { SHARD_MESSAGES, SHARD_CALLS, SHARD_MEMBERS, SHARD_TABLES };

struct shard_table {
    const char *name;
    const char *rank;    /* column by which its rows are divided */
    const char *keys[2]; /* by which they are ordered; NULL: none */
};

extern const struct shard_table shard_tables[SHARD_TABLES];

/* Name of the module of the virtual tables. */
#define SHARDS_MODULE "mpistair_shards"
/* Name of a function of SQL: by its number it lets a connection see one shard alone, before the first is read. */
#define SHARD_ONLY_FUNCTION "mpistair_shard_only"
/* What stands between the trace's name and the shard's number. */
#define SHARD_SUFFIX ".shard-"

enum { SHARDS_MOST = 256 };

struct shard {
    int64_t number; /* 1, 2, ... */
    int64_t first_rank, last_rank;
    int64_t rows[SHARD_TABLES];
    char *path; /* beside trace.db */
    char *key;  /* of this ingest */
};

struct shards {
    struct shard *shards; /* [n] in the order of their ranks; none: the trace is one file */
    size_t n;
};

/* Reads which shards the trace has that is the schema (main, ...) of a connection. Returns 0, or -1 with the reason. */
int shards_read(struct shards *shards, sqlite3 *database, const char *schema, struct error *error);
void shards_release(struct shards *shards);
/* Leaves the one of that number. */
void shards_keep(struct shards *shards, int64_t number);

/* True if the trace, or the part of it that is looked at, has the table shard with rows: then there are sums of what
 * the shards hold (form_sum, shard), which need not be read. */
bool shards_have_sums(sqlite3 *database);

enum { SHARD_TEXT_BYTES = 256 };

/* Opens a shard, read-only. Returns NULL where it is not the one that it should be: fault becomes "is missing", ... */
sqlite3 *shard_open(const struct shard *shard, char fault[SHARD_TEXT_BYTES]);
/* Writes what the shard has, as "messages to ranks 32-63, their calls and rounds". */
void shard_has_text(const struct shard *shard, char text[SHARD_TEXT_BYTES]);
/* Sets why a shard cannot be read, what it has, and what to do. Returns -1. */
int shard_error(const struct shard *shard, const char *fault, struct error *error);

/* Puts virtual tables into the place of the empty tables. Returns SQL that makes the tables of a shard, for free();
 * NULL: the database says why. */
char *shards_split(sqlite3 *database);
/* Says in a shard whose it is. Returns 0, or -1: the database says why. */
int shard_finish(sqlite3 *shard, int64_t number, const char *key);

#endif
