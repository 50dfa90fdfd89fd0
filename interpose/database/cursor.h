/* Reads rows of a trace.db: one cursor prepares, steps and finalizes, and keeps the first error until it is closed.
 *
 *     struct cursor rows;
 *     cursor_open(&rows, database, path, "SELECT rank, host FROM ...", error);
 *     while (cursor_next(&rows))
 *         ... cursor_integer(&rows, 0), cursor_text(&rows, 1, pool) ...
 *     return cursor_close(&rows);
 *
 * Text comes out fit for a terminal, JSON and HTML alike: valid UTF-8 without control characters. The strings live in a
 * pool until it is released. */
#ifndef MPISTAIR_DATABASE_CURSOR_H
#define MPISTAIR_DATABASE_CURSOR_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

struct pool_text {
    struct pool_text *next;
    char text[];
};

/* Owns strings; begins zero-initialised. */
struct pool {
    struct pool_text *first;
};

void pool_release(struct pool *pool);
/* Returns a copy of bytes[length], owned by the pool. Tabs and ends of lines become blanks, other control characters
 * and invalid UTF-8 become '?'. */
const char *pool_clean(struct pool *pool, const char *bytes, size_t length);

struct cursor {
    sqlite3 *database;
    sqlite3_stmt *statement;
    const char *path; /* names the database in errors */
    struct error *error;
    int result; /* 0, or -1 once something failed and the error is set */
};

/* Prepares sql. A failure shows in cursor_next (false) and cursor_close (-1). */
void cursor_open(struct cursor *rows, sqlite3 *database, const char *path, const char *sql, struct error *error);
/* Binds values to the parameters ?1, ?2, ..., a letter each: i int64_t, t text that lives on, or NULL. */
void cursor_bind(struct cursor *rows, const char *letters, ...);
bool cursor_next(struct cursor *rows);
int cursor_close(struct cursor *rows);

/* Reads the n numbers of a query's first row; 0 for NULL, and where it has no row. Returns 0, or -1 with the reason. */
int cursor_numbers(sqlite3 *database, const char *path, const char *sql, int64_t *numbers, int n, struct error *error);

/* Returns 0 for NULL. */
int64_t cursor_integer(struct cursor *rows, int column);
/* Returns NaN for NULL. */
double cursor_real(struct cursor *rows, int column);
/* Returns "" for NULL. */
const char *cursor_text(struct cursor *rows, int column, struct pool *pool);

#endif
