/* Shows rows in memory as a table that SQLite reads: "INSERT INTO call_row SELECT * FROM feed_call_row" takes a whole
 * batch in one statement. SQLite then stays at the end of the table that it fills. With a statement for each row it
 * would begin, descend the tree and end for each. */
#ifndef MPISTAIR_TRACE_FEED_H
#define MPISTAIR_TRACE_FEED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/trace/state/trace.h"

struct feed {
    const char *table; /* the table that it fills; the feed itself is called feed_... */
    int columns;
    size_t row_bytes;
    void (*column)(sqlite3_context *value, const void *row, int column); /* NULL unless it sets the value */
    const void *rows;                                                    /* [n_rows] */
    size_t n_rows;
    sqlite3_stmt *statement;
};

/* Makes the feed known to the database under its name; table, columns, row_bytes and column are set. The feed must stay
 * where it is until feed_end. Returns 0, or -1: the database says why. */
int feed_begin(struct feed *feed, sqlite3 *database);
/* Inserts the rows, in their order. Returns 0, or -1: the database says why. */
int feed_insert(struct feed *feed, const void *rows, size_t n_rows);
/* Ends the use of the feed, before it goes away. The database keeps the name; nobody may use it any more. */
void feed_end(struct feed *feed);

/* Sets a value, NULL for TRACE_NO_TIME. */
static inline void feed_time(sqlite3_context *value, int64_t ns)
{
    if (ns != TRACE_NO_TIME)
        sqlite3_result_int64(value, ns);
}

/* Sets a value, NULL for TRACE_NONE. */
static inline void feed_index(sqlite3_context *value, uint32_t index)
{
    if (index != TRACE_NONE)
        sqlite3_result_int64(value, index);
}

/* Sets a value, NULL for -1. */
static inline void feed_known(sqlite3_context *value, int32_t number)
{
    if (number != -1)
        sqlite3_result_int(value, number);
}

#endif
