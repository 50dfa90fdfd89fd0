/* Rows in memory as a table that SQLite reads: "INSERT INTO call_row SELECT * FROM feed_call_row" takes a whole batch
 * in one statement. SQLite then stays at the end of the table that it fills; a statement a row begins, descends the
 * tree and ends for each.
 */
#ifndef MPISTAIR_TRACE_FEED_H
#define MPISTAIR_TRACE_FEED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/trace/memory/trace.h"

struct feed {
    const char *table; /* that it fills: it is called feed_... itself */
    int columns;
    size_t row_bytes;
    void (*column)(sqlite3_context *value, const void *row, int column); /* NULL unless it sets the value */
    const void *rows;                                                    /* [n_rows] */
    size_t n_rows;
    sqlite3_stmt *statement;
};

/* Makes the feed known to the database under its name; table, columns, row_bytes and column are set. 0, or -1: the
 * database says why. The feed stays where it is until feed_end. */
int feed_begin(struct feed *feed, sqlite3 *database);
/* Inserts the rows, in their order. 0, or -1: the database says why. */
int feed_insert(struct feed *feed, const void *rows, size_t n_rows);
/* Before the feed goes away. The database keeps the name; nobody may use it any more. */
void feed_end(struct feed *feed);

/* A value, NULL for TRACE_NO_TIME. */
static inline void feed_time(sqlite3_context *value, int64_t ns)
{
    if (ns != TRACE_NO_TIME)
        sqlite3_result_int64(value, ns);
}

/* A value, NULL for TRACE_NONE. */
static inline void feed_index(sqlite3_context *value, uint32_t index)
{
    if (index != TRACE_NONE)
        sqlite3_result_int64(value, index);
}

/* A value, NULL for -1. */
static inline void feed_known(sqlite3_context *value, int32_t number)
{
    if (number != -1)
        sqlite3_result_int(value, number);
}

#endif
