/* Instructions and cycles of a rank's computation, without those of its waiting inside MPI. */
#ifndef MPISTAIR_REPORT_INSTRUCTIONS_H
#define MPISTAIR_REPORT_INSTRUCTIONS_H

#include <stdint.h>

#include "interpose/database/cursor.h"

/* NaN: not known. */
struct rank_instructions {
    int64_t rank;
    double instructions, cycles; /* of its computation */
};

/* Adds the ranks of which the tables counter and course tell instructions from begin_ns to end_ns to *rows[*n], by
 * rank. The caller frees. Returns 0, or -1 with the reason. */
int instructions_read(struct rank_instructions **rows, size_t *n, sqlite3 *database, const char *path, int64_t begin_ns,
                      int64_t end_ns, struct error *error);

#endif
