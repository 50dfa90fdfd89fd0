/* Inserts rows: a table has one prepared statement, and values are given as to printf. */
#ifndef MPISTAIR_DATABASE_ROW_H
#define MPISTAIR_DATABASE_ROW_H

#include <sqlite3.h>
#include <stdbool.h>

struct row {
    sqlite3 *database;
    sqlite3_stmt *statement;
    bool failed; /* sticky: the database says why */
};

/* Prepares an INSERT into a table that has that many columns. */
struct row row_prepare(sqlite3 *database, const char *table, int columns);
/* Inserts one row. Each column has a letter:
 *     i   int64_t
 *     o   int64_t, INT64_MIN for NULL
 *     z   int64_t, 0 for NULL
 *     u   uint32_t, UINT32_MAX for NULL
 *     k   an index (uint32_t) as a number from 1 on, UINT32_MAX for NULL
 *     n   int32_t, -1 for NULL
 *     b   int, bool or a smaller integer
 *     d   double, NaN for NULL
 *     t   text that lives on, of any bytes, or NULL
 */
void row_insert(struct row *row, const char *letters, ...);
/* Releases the statement. Returns 0, or -1 if anything has failed since row_prepare. */
int row_finish(struct row *row);

#endif
