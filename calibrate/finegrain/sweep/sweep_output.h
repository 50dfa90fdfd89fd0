/* Holds the file to which a sweep adds a row a configuration while it measures. A sweep that was killed goes on
 * with it: rows that are there are not measured again, a last row that was cut off is. The file is locked (flock)
 * meanwhile. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_OUTPUT_H
#define MPISTAIR_CALIBRATE_SWEEP_OUTPUT_H

#include <stdbool.h>

#include "calibrate/finegrain/finegrain_row.h"
#include "calibrate/finegrain/sweep/sweep_file.h"

struct sweep_output {
    const char *path; /* borrowed */
    int descriptor;
    bool *done; /* [sweep->n] configurations that have a row */
    size_t n_done, n_void;
    uint64_t ranks; /* of the rows; 0: there is none */
};

/* Opens the file, or makes it. mpi: of the launcher. Returns 0; or -1 with the reason and nothing to close: not
 * writable, another sweep writes it, no such file, a row that is wrong, of no configuration of the sweep, or of
 * another MPI. */
int sweep_output_open(struct sweep_output *output, const char *path, const struct sweep *sweep, const char *mpi,
                      struct error *error);
/* Adds the row of a configuration, which is on the disk then. Returns 0, or -1 with the reason: other ranks than
 * in the rows before, disk full. */
int sweep_output_add(struct sweep_output *output, size_t config, const struct finegrain_row *row, struct error *error);
void sweep_output_close(struct sweep_output *output);

#endif
