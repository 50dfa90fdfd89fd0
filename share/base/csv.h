/* Writes fields of CSV, and reads CSV with a header line: columns are found by name, numbers are checked, and errors
 * name file:line and column.
 *
 * Accepts LF, CR and CRLF, a last line without end, quoted fields, blank lines at the end, and comments anywhere: lines
 * that begin with '#'. Refuses a missing or repeated required column, rows of another width or of more than 1 MiB, and
 * whatever is not a number of the asked kind (NaN, infinities, overflow, trailing letters). */
#ifndef MPISTAIR_BASE_CSV_H
#define MPISTAIR_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"

enum csv_kind { CSV_U64, CSV_REAL, CSV_TEXT };

struct csv_column {
    const char *name;
    enum csv_kind kind;
    bool optional;
    bool present; /* out */
};

union csv_value {
    uint64_t u64;
    double real;
    const char *text; /* valid during the call of row */
};

/* Calls row for every line with values[n_columns] in the order of columns (0 or NULL where an optional column is
 * absent). A row function that returns non-zero ends the reading with -1. It sets error itself, without a place, and
 * the reader puts `path:line: ` in front. Columns that are not named are ignored. Returns 0 or -1. */
int csv_read(const char *path, struct csv_column *columns, size_t n_columns,
             int (*row)(void *context, size_t line, const union csv_value *values, struct error *error), void *context,
             struct error *error);

/* As csv_read, and calls comment (same context) for every line that begins with '#' outside quotes. text is what
 * follows the '#' and blanks, cut to CSV_COMMENT_MAX - 1 bytes, without the line's end. Like row, comment ends the
 * reading by returning non-zero. */
enum { CSV_COMMENT_MAX = 4096 };
int csv_read_comments(const char *path, struct csv_column *columns, size_t n_columns,
                      int (*row)(void *context, size_t line, const union csv_value *values, struct error *error),
                      int (*comment)(void *context, const char *text, struct error *error), void *context,
                      struct error *error);

/* As csv_read_comments, of a file that may be cut off: a last line without an end is left out, and the header may be
 * missing. */
int csv_read_unfinished(const char *path, struct csv_column *columns, size_t n_columns,
                        int (*row)(void *context, size_t line, const union csv_value *values, struct error *error),
                        int (*comment)(void *context, const char *text, struct error *error), void *context,
                        struct error *error);

/* Writes a field as valid UTF-8 without control characters, quoted where RFC 4180 asks for it. */
void csv_text(FILE *stream, const char *text);
/* Writes a comma and the number, with the digits that give back the same double; NaN is an empty field. */
void csv_number(FILE *stream, double value);

#endif
