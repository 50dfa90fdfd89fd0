/* Makes the configurations of a sweep: every combination of the values that its lines list. */
#ifndef MPISTAIR_CALIBRATE_SWEEP_COMBINE_H
#define MPISTAIR_CALIBRATE_SWEEP_COMBINE_H

#include <stddef.h>

#include "calibrate/finegrain/finegrain_config.h"

/* A sweep has at most so many configurations. */
enum { SWEEP_MOST = 100000 };

/* Holds what a line says. */
struct sweep_list {
    size_t row;    /* of the option's table */
    char *text;    /* owns the values */
    char **values; /* [n]; one that is NULL: an option without a value */
    size_t n;
};

struct sweep {
    struct sweep_list *lists; /* [n_lists] */
    size_t n_lists;
    struct finegrain_config *configs; /* [n], no two the same; the last line changes fastest */
    size_t n;
    size_t n_unfit;     /* combinations whose values do not fit each other: they are left out */
    struct error unfit; /* why the first of them is */
};
void sweep_release(struct sweep *sweep);

/* Sets an option of a config; row: its place among finegrain_config_rows(). Returns 0, or -1 with what was expected. */
int sweep_set_value(struct finegrain_config *config, size_t row, const char *value, struct error *error);

/* Makes the configurations of the lists. Returns 0, or -1 with the reason: too many, none that fits, no memory. */
int sweep_combine(const char *path, const struct finegrain_config *base, struct sweep *sweep, struct error *error);

/* Puts configurations in an order that tells those apart whose rows are different (strcmp-like). A row has nine
 * digits of compute_s. */
int sweep_compare(const struct finegrain_config *a, const struct finegrain_config *b);

#endif
