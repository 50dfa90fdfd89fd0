/* Finds the times of fixed:FILE by rank, thread and iteration. */
#ifndef MPISTAIR_CALIBRATE_ARRIVALS_FIXED_H
#define MPISTAIR_CALIBRATE_ARRIVALS_FIXED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/finegrain/arrivals/arrival_file.h"
#include "share/base/error.h"

/* Holds the times of one rank: thread t takes seconds[t * turns] to seconds[t * turns + turns - 1] in turn. */
struct fixed_rank {
    uint32_t rank;
    size_t n_threads;
    size_t turns;
    const double *seconds; /* [n_threads * turns] */
};

struct fixed_times {
    struct fixed_rank *ranks; /* in order of rank */
    size_t n_ranks;
    double *seconds;
    bool named; /* else one rank stands for all */
};

/* Puts rows in the order of ranks and threads; those of one rank and thread keep the order of the file. Refuses a
 * rank whose threads are not numbered from 0, or do not all have as many times; path is for messages. Returns 0, and
 * *times is for fixed_times_release; or -1 with the reason. */
int fixed_times_make(const char *path, struct arrival_rows *rows, struct fixed_times *times, struct error *error);
void fixed_times_release(struct fixed_times *times);

/* Returns the times of a rank, NULL where there are none. */
const struct fixed_rank *fixed_times_of(const struct fixed_times *times, uint32_t rank);

#endif
