/* Puts ranks into bins of neighbours, so that a picture of thousands of ranks has no more rows than can be seen. */
#ifndef MPISTAIR_REPORT_RANK_BINS_H
#define MPISTAIR_REPORT_RANK_BINS_H

#include <sqlite3.h>
#include <stdint.h>

#include "share/base/error.h"

struct rank_bins {
    int64_t ranks; /* of the trace: 0 ... ranks - 1 */
    int64_t width; /* ranks of a bin; the last one may have fewer */
    int64_t n;     /* bins */
};

/* Returns bins of equal width, at most `most` of them. */
struct rank_bins rank_bins_of(int64_t ranks, int64_t most);
/* Reads how many ranks the trace has. Returns 0, or -1 with the reason. */
int rank_bins_count(int64_t *ranks, sqlite3 *database, const char *path, struct error *error);
/* Returns how many ranks a bin has. */
int64_t rank_bins_size(const struct rank_bins *bins, int64_t bin);

#endif
