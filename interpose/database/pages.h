/* Appends rows to empty tables of a database file, page by page, while no connection has it open: what SQLite's own
 * inserts do in several times as many instructions. The format is that of sqlite.org/fileformat2.html. */
#ifndef MPISTAIR_DATABASE_PAGES_H
#define MPISTAIR_DATABASE_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks NULL in a row. */
#define PAGES_NULL INT64_MIN

enum { PAGES_TABLES_MOST = 16 };

/* Rows of the table have the ids 1, 2, ...; a column INTEGER PRIMARY KEY must be NULL in them. A table WITHOUT ROWID
 * has its rows in ascending order of its key, which is its first columns. */
struct pages_table {
    const char *name;
    size_t columns;
    bool is_keyed; /* WITHOUT ROWID */
    /* Returns the text that a value of a column stands for, NULL for a column of numbers; may be NULL itself. */
    const char *(*text)(int column, int64_t value);
};

struct pages;

/* Begins with what the connection says of the file at path; it must then be closed, and the file not be opened before
 * pages_close. Returns NULL with errno, which is 0 where SQLite failed: the database says why. */
struct pages *pages_open(sqlite3 *database, const char *path, const struct pages_table *tables, size_t n_tables);
/* Adds rows to tables[table], values[n_values] row by row. A failure is kept until pages_close. */
void pages_add(struct pages *pages, size_t table, const int64_t *values, size_t n_values);
/* Returns the errno value of the first failure so far, or 0. */
int pages_failure(const struct pages *pages);
/* Completes the file. Returns 0, or the errno value of the first failure. */
int pages_close(struct pages *pages);

#endif
