/* Writes JSON by libjansson, where it takes more than one call. */
#ifndef MPISTAIR_BASE_JSON_H
#define MPISTAIR_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "share/base/error.h"

/* Returns the number. libjansson's integers are signed: above 2^63 - 1 it is the nearest double. */
json_t *json_count(uint64_t value);
/* Returns the number, or null for NaN and infinities, which JSON does not have. */
json_t *json_finite(double value);

/* Writes an array element by element, since it may be larger than memory. */
struct json_rows {
    FILE *stream;
    bool begun, failed;
};

/* Writes a row, a line of its own, and releases it. NULL, from a call that made none, is remembered as a failure. */
void json_rows_add(struct json_rows *rows, json_t *row);
/* Ends the array. Returns 0, or -1 with the reason if a row could not be made. Writing may have failed even so:
 * whoever closes the stream tells. */
int json_rows_end(struct json_rows *rows, struct error *error);

/* Writes a value with a line's end and releases it. Returns 0, or -1 with the reason if it is NULL. Writing may have
 * failed even so: whoever closes the stream tells. */
int json_write(FILE *stream, json_t *value, struct error *error);

#endif
