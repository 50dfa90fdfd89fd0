/* Goes once through the times of all rounds and fills tables in the place of the views that sum over them. */
#ifndef MPISTAIR_SUMS_ROUND_SUMS_H
#define MPISTAIR_SUMS_ROUND_SUMS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

enum { MAX_RANK = 1 << 24 };

/* Describes a rank in a round. */
struct round_entry {
    int64_t begin_ns, length_ns;
    uint32_t rank;
};

struct round_span {
    int64_t id, kind_id;
    int64_t kind_rounds;      /* as the table kind says; -1: that table does not know the kind */
    int64_t place, of_rounds; /* 1, 2, ... in the order of time among the of_rounds of its kind */
    size_t first, n;          /* its entries, in the order of ranks */
};

struct round_sums {
    struct round_span *rounds; /* [n_rounds] in the order of ids */
    size_t n_rounds;
    struct round_entry *entries; /* [n_entries] */
    size_t n_entries;
    struct late_span *late; /* [n_late], see round_late.h */
    size_t n_late;
};

/* Fills temp.kind_actual, temp.kind_in_mpi, temp.kind_halves, temp.round_wait and temp.rank_actual, which must exist,
 * and *sums. Returns 0, or -1 with the reason; the caller calls round_sums_release in either case. */
int round_sums_make(sqlite3 *database, const char *path, struct round_sums *sums, struct error *error);
void round_sums_release(struct round_sums *sums);

/* Returns the round of that id, NULL if there is none. */
const struct round_span *round_sums_find(const struct round_sums *sums, int64_t round_id);

#endif
