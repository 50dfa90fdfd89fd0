/* Describes the members of a row of the report once: the columns of a query fill them, in their order, and JSON,
 * of which CSV is made (json_rows), and tables show them under their names. */
#ifndef MPISTAIR_REPORT_FIELDS_H
#define MPISTAIR_REPORT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "interpose/database/cursor.h"
#include "share/base/json.h"

enum { FIELD_INTEGER, FIELD_REAL, FIELD_TEXT, FIELD_BOOLEAN, FIELD_OPTIONAL = 4 };

struct field {
    const char *name;
    size_t offset;
    int kind; /* FIELD_OPTIONAL: not known where it is below zero or "" */
};

struct fields {
    const struct field *rows; /* [n] */
    size_t n, bytes;          /* bytes: of a row */
};

/* Return the description of a member; its type says what kind it is. */
#define FIELD_KIND(member)                                                                                             \
    _Generic(member, int64_t : FIELD_INTEGER, size_t : FIELD_INTEGER, double : FIELD_REAL, const char * : FIELD_TEXT,  \
             bool : FIELD_BOOLEAN)
#define FIELD_AS(name, type, member)                                                                                   \
    {                                                                                                                  \
        name, offsetof(struct type, member), FIELD_KIND(((struct type *)NULL)->member)                                 \
    }
#define FIELD(type, member) FIELD_AS(#member, type, member)
#define FIELD_OR_NULL(type, member)                                                                                    \
    {                                                                                                                  \
#member, offsetof(struct type, member), FIELD_OPTIONAL | FIELD_KIND(((struct type *)NULL)->member)             \
    }
/* Returns the fields of a struct, as in FIELDS(report_level, FIELD(report_level, messages), ...). */
#define FIELDS(type, ...)                                                                                              \
    {                                                                                                                  \
        (const struct field[]){__VA_ARGS__}, sizeof((const struct field[]){__VA_ARGS__}) / sizeof(struct field),       \
            sizeof(struct type)                                                                                        \
    }

/* Fills the members for which a query has columns from this one on. Returns the column behind them. */
int fields_read(const struct fields *fields, void *row, struct cursor *rows, int column, struct pool *pool);
/* Adds the members to an object. */
void fields_add(const struct fields *fields, const void *row, struct json *object);
struct json *fields_object(const struct fields *fields, const void *row);
/* Returns an array of n objects. */
struct json *fields_array(const struct fields *fields, const void *rows, size_t n);
/* Makes a table of that name, in place of the one there is, with a column a member and n rows. Returns 0, or -1: the
 * database says why. */
int fields_store(const struct fields *fields, const void *rows, size_t n, sqlite3 *database, const char *table);
/* Writes the present row of a query as a line of CSV: reals with 17 significant digits, NULL as nothing. */
void statement_csv(FILE *stream, sqlite3_stmt *statement);

#endif
