/* Predicts fine-grained messages over draws of the threads' arrivals: a row an interface and a number of parts. */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_ROWS_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_ROWS_H

#include "predictor/finegrain/finegrain_options.h"

/* Times are medians over the draws; the speed-up is that of these medians. */
struct finegrain_row {
    enum finegrain_interface by;
    uint32_t parts;
    double bsp_s, fine_s, speedup_percent;
    double low_percent, high_percent; /* 2.5 and 97.5 % quantiles of single draws' speed-ups, wide enough to hold
                                       * speedup_percent */
    double bound_percent;             /* the most that any interface gains with so many parts */
    double limit_percent;             /* the most that any number of parts gains: the same for all rows */
};

struct finegrain_rows {
    struct finegrain_row *rows; /* [n_rows] by interface, then by parts */
    size_t n_rows;
    struct finegrain_notes notes;
};

/* Predicts all that the options ask for; a draw i is iteration i of rank 0. Returns 0, or -1 with the reason: the table
 * lacks the level, or the arrivals are of fewer threads. */
int finegrain_rows_make(const struct machine *machine, const struct finegrain_options *options,
                        const struct arrivals *arrivals, uint64_t seed, struct finegrain_rows *rows,
                        struct error *error);
void finegrain_rows_release(struct finegrain_rows *rows);

/* Returns the row of the interface with the fewest parts whose speed-up is within half a percentage point of the
 * largest, and above 0 where that is; NULL where the interface has none. */
const struct finegrain_row *finegrain_rows_best(const struct finegrain_rows *rows, enum finegrain_interface by);
/* Returns the parts from which on every row of the interface is slower than whole buffers; 0 where the last is not. */
uint32_t finegrain_rows_loses_from(const struct finegrain_rows *rows, enum finegrain_interface by);

#endif
