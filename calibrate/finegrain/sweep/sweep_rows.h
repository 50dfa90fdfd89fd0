/* Reads the results of the benchmark of fine-grained messaging, one row a configuration (share/man/mpistair.5,
 * FINE-GRAINED RESULTS). */
#ifndef MPISTAIR_CALIBRATE_SWEEP_ROWS_H
#define MPISTAIR_CALIBRATE_SWEEP_ROWS_H

#include <stddef.h>

#include "calibrate/finegrain/finegrain_config.h"

struct sweep_row {
    struct finegrain_config config; /* its columns; the others are zero */
    char *arrivals, *mpi;           /* own */
    uint64_t ranks;
    double speedup_percent, low_percent, high_percent; /* NaN: the field is empty */
    bool is_void;
    size_t line; /* of the file */
};

struct sweep_rows {
    struct sweep_row *rows; /* [n] in the order of the file */
    size_t n;
};

/* Reads a file. Returns 0, or -1 with file:line and what was expected, and nothing to release. */
int sweep_rows_read(const char *path, struct sweep_rows *rows, struct error *error);
void sweep_rows_release(struct sweep_rows *rows);

#endif
