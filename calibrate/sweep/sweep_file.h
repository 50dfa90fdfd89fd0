/* Reads which configurations of the benchmark of fine-grained messaging a sweep measures (share/man/mpistair.5,
 * SWEEP): a line an option with its values, of which every combination is one. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_FILE_H
#define MPISTAIR_CALIBRATE_SWEEP_FILE_H

#include <stddef.h>

#include "calibrate/finegrain/finegrain_config.h"

/* A sweep has at most so many configurations. */
enum { SWEEP_MOST = 100000 };

struct sweep_list;

struct sweep {
    struct sweep_list *lists; /* [n_lists] */
    size_t n_lists;
    struct finegrain_config *configs; /* [n], no two the same; the last line changes fastest */
    size_t n;
    size_t n_unfit;     /* combinations whose values do not fit each other: they are left out */
    struct error unfit; /* why the first of them is */
};

/* Reads a file; values that it does not list are those of base, whose texts are borrowed. Returns 0, or -1 with the
 * reason and nothing to release: not readable, an option that there is not, a value that it does not take, no
 * combination that fits. */
int sweep_read(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error);
void sweep_release(struct sweep *sweep);

/* Puts configurations in an order that tells those apart whose rows are different (strcmp-like). A row has nine
 * digits of compute_s. */
int sweep_compare(const struct finegrain_config *a, const struct finegrain_config *b);

#endif
