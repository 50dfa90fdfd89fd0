/* Lists what one pair of each level measures, by variant and size: the benchmarks of what a call does need no more. */
#ifndef MPISTAIR_CALIBRATE_ONE_PAIR_H
#define MPISTAIR_CALIBRATE_ONE_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/measure/measure.h"

/* Holds the pair of a level, which the items borrow. */
struct one_pair {
    struct pair pair;
    char ranks[32];
};

struct one_pair_plan {
    const char *const *variants; /* [n_modes]; the item's mode is the index */
    int n_modes;
    const uint64_t *sizes; /* [n_sizes] */
    size_t n_sizes;
    int repeats;
    enum level nearest, farthest; /* the levels between which pairs are taken */
};

/* Lists each mode and size of the plan for the pair of each level that plan and job have, as benchmark_program.list
 * does. Fills levels[LEVEL_COUNT]. */
void one_pair_list(const struct measure *measure, const struct one_pair_plan *plan, struct one_pair *levels,
                   struct item **items, size_t *n_items);

#endif
