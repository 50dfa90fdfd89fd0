/* Builds JSON as a tree of values and writes it. A function that takes a value owns it from then on. */
#ifndef MPISTAIR_BASE_JSON_H
#define MPISTAIR_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"

struct json;

/* Each returns a value of its kind; texts are copied. */
struct json *json_null(void);
struct json *json_boolean(bool value);
struct json *json_integer(int64_t value);
/* Above 2^63 - 1 it is the nearest double, as many readers have no larger integers. */
struct json *json_count(uint64_t value);
/* null for NaN and infinities, which JSON does not have. */
struct json *json_finite(double value);
struct json *json_string(const char *text);
struct json *json_array(void);
struct json *json_object(void);

/* Returns an object of names with values, or an array in brackets: json_pack("{sI so}", "rank", rank, "parts", parts).
 * Letters: s const char *, I int64_t, i int, b int as a truth value, f double as json_finite has it, o struct json *.
 * ss? is null for NULL. Blanks, commas and colons mean nothing. */
struct json *json_pack(const char *format, ...);

/* Adds to the end of an array. */
void json_add(struct json *array, struct json *value);
/* Adds a name to an object: a copy, or one that lives as long as the object. Names of json_pack are literals. */
void json_set(struct json *object, const char *name, struct json *value);
void json_set_literal(struct json *object, const char *name, struct json *value);
/* Moves what is in the other object behind what is in this one. */
void json_move(struct json *object, struct json *other);
bool json_has(const struct json *object, const char *name);
/* Returns how many values an array or object has. */
size_t json_size(const struct json *value);
void json_release(struct json *value);

/* Layouts. JSON_PAGE is for a page of HTML: no blanks, numbers of nine digits, and '<' as an escape, so that no text
 * ends the element. */
enum json_layout { JSON_INDENTED, JSON_LINE, JSON_PAGE };
/* Writes a value as text. Returns 0, or -1 if a text in it is no UTF-8; that text is left out. */
int json_print(FILE *stream, const struct json *value, enum json_layout layout);

/* Writes an array element by element, since it may be larger than memory; or its objects as CSV, below a line with the
 * names of the first one: what is null is empty, true is 1, and reals have the digits that give back the same double.
 * */
struct json_rows {
    FILE *stream;
    bool csv;
    bool begun, failed;
};

/* Writes the names alone of a row of CSV, for an array that may have none, and releases it. */
void json_rows_names(struct json_rows *rows, struct json *row);
/* Writes a row, a line of its own, and releases it. */
void json_rows_add(struct json_rows *rows, struct json *row);
/* Ends the array. Returns 0, or -1 with the reason if a text was not UTF-8. Other errors of writing show when the
 * stream is closed. */
int json_rows_end(struct json_rows *rows, struct error *error);

/* Writes a value with a line's end and releases it. Returns as json_rows_end. */
int json_write(FILE *stream, struct json *value, struct error *error);

#endif
