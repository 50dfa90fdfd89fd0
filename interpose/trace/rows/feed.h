/* Shows rows in memory as a table that SQLite reads: "INSERT INTO call_row SELECT * FROM feed_call_row" takes a whole
 * batch in one statement. SQLite then stays at the end of the table that it fills. With a statement for each row it
 * would begin, descend the tree and end for each. */
#ifndef MPISTAIR_TRACE_FEED_H
#define MPISTAIR_TRACE_FEED_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* Stands in a row for NULL. */
#define FEED_NULL INT64_MIN

struct feed {
    const char *table; /* the table that it fills; the feed itself is called feed_... */
    size_t columns;
    /* Returns the text that a value of a column stands for, NULL for a column of numbers; may be NULL itself. */
    const char *(*text)(int column, int64_t value);
    const int64_t *values; /* [n_values] row by row, in the order of the table's columns */
    size_t n_values;
    sqlite3_stmt *statement;
};

/* Makes the feed known to the database under its name; table, columns and text are set. The feed must stay where it is
 * until feed_end. Returns 0, or -1: the database says why. */
int feed_begin(struct feed *feed, sqlite3 *database);
/* Inserts the rows, in their order. Returns 0, or -1: the database says why. */
int feed_insert(struct feed *feed, const int64_t *values, size_t n_values);
/* Ends the use of the feed, before it goes away. The database keeps the name; nobody may use it any more. */
void feed_end(struct feed *feed);

#endif
