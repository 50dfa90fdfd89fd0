/* Holds losses that were fitted against those of made-up platforms, and against the errors that noise leaves them
 * (share/doc/MODELS.md, Memory contention).
 *
 * A loss is the slope of the totals, computation and message together (D1). A total's standard error s is that of two
 * medians. The best that totals tell of the slopes are the lines by least squares through all totals from N_par on that
 * meet at N_seq; without the other line's totals, k steps of one core tell a slope to s sqrt(12 / (k (k + 1) (k + 2))).
 * No fit of the totals has less. So a loss is within 3 % of itself, in 95 %, where 1.96 of its standard errors are. */
#ifndef MPISTAIR_TESTS_MEMORY_LOSSES_H
#define MPISTAIR_TESTS_MEMORY_LOSSES_H

#include "tests/models/memory_made.h"

enum { LOSSES_MOST = 1000 };

/* Holds a loss, in B/s a core. */
struct loss {
    double truth, found;
    double error; /* the standard error that noise leaves */
    double low, high;
    bool has_cores; /* N_par and N_seq came back as drawn */
};

struct losses {
    size_t n;
    struct loss all[LOSSES_MOST];
};

/* Finds the standard errors that noise leaves the losses of a side, [0] left and [1] right of N_seq; NaN where no n has
 * such a loss. */
void losses_errors(const struct made_measuring *measuring, const struct memory_side *side, uint32_t cores,
                   double errors[2]);
/* Adds those losses of a side that any n has. Intervals are those that the table has of them. */
void losses_add(struct losses *losses, const struct made_measuring *measuring, const struct memory_side *truth,
                const struct memory_side *found, const struct made_intervals *intervals, uint32_t cores);
void losses_print(const struct losses *losses);
/* Fails unless losses are as near as noise lets them be: with the cores as drawn, the mean square of their distances is
 * that of their standard errors, and none is 4.5 of them away; of those that can be within 3 %, 95 % are; and 95 % of
 * the intervals have the truth. What chance does to so many is let through. */
void losses_require(const struct losses *losses);

#endif
