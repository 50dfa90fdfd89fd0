/* Reads the files of times that `kde:FILE` and `fixed:FILE` name: a row RANK,THREAD,SECONDS a time, or one time a
 * line. */
#ifndef MPISTAIR_CALIBRATE_ARRIVAL_FILE_H
#define MPISTAIR_CALIBRATE_ARRIVAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

/* Bounds all times: what is longer was most likely not written in seconds. */
#define ARRIVALS_MOST_S 86400.0

struct arrival_row {
    uint32_t rank;
    uint32_t thread;
    uint32_t line; /* of the file */
    double seconds;
};

struct arrival_rows {
    struct arrival_row *rows; /* in the order of the file */
    size_t n;
    bool named; /* rows have rank and thread; else one time is a line, and the n-th is thread n of rank 0 */
};

/* Reads the file at path. A first line `rank,thread,seconds` or `seconds`, empty lines and lines that begin with # are
 * passed over. Returns 0, and *rows is for arrival_rows_release; or -1 with file:line and what was expected. */
int arrival_rows_read(const char *path, struct arrival_rows *rows, struct error *error);
void arrival_rows_release(struct arrival_rows *rows);

#endif
