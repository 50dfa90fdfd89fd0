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

/* Takes a line, values[n_columns] in the order of columns (0 or NULL where an optional column is absent), and what
 * follows '#' and blanks in a line that begins with '#' outside quotes, cut to CSV_COMMENT_MAX - 1 bytes, without the
 * line's end. A function that returns non-zero ends the reading. It sets error itself, without a place: the reader puts
 * `path:line: ` in front. */
enum { CSV_COMMENT_MAX = 4096 };
typedef int csv_row(void *context, size_t line, const union csv_value *values, struct error *error);
typedef int csv_comment(void *context, const char *text, struct error *error);

/* CSV_MAY_BE_CUT: a last line without an end is left out, and the header may be missing. */
enum csv_end { CSV_WHOLE, CSV_MAY_BE_CUT };

/* Calls row for every line and comment, which may be NULL, for every comment. Columns that are not named are ignored.
 * Returns 0 or -1. */
int csv_read(const char *path, struct csv_column *columns, size_t n_columns, enum csv_end end, csv_row *row,
             csv_comment *comment, void *context, struct error *error);

/* Writes a field as valid UTF-8 without control characters, quoted where RFC 4180 asks for it. */
void csv_text(FILE *stream, const char *text);

#endif
