/* Measures the iterations of the benchmark: BSP and fine-grained ones in turn, in random order. */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_MEASURE_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_MEASURE_H

#include <mpi.h>

#include "calibrate/finegrain/arrivals/thread_arrivals.h"
#include "calibrate/finegrain/thread_pool.h"
#include "calibrate/finegrain/part_exchange.h"

/* Is the header of what rank 0 prints, a row an iteration; share/man/mpistair.5 has the first six columns. delay_s
 * is how far the last thread was to arrive behind the one in the middle, median_oversleep_s the median of what the
 * threads of a rank overslept, of the rank where it is largest. */
#define FINEGRAIN_SAMPLES_HEADER "trial,iteration,way,seconds,last_arrival_s,oversleep_s,delay_s,median_oversleep_s"

struct finegrain_measure {
    const struct finegrain_config *config;
    const struct arrivals *arrivals;
    const struct transport *transport; /* of the parts */
    struct exchange whole, fine;
    struct pool *pool;
    MPI_Comm control;
    int rank, size;
    double offset_s; /* to rank 0's clock */
    double lead_s;   /* from agreeing on a start to the start */
    char *sent;      /* [peers][bytes] */
    char *cache;     /* [cache_bytes] is written over before an iteration; NULL: not asked for */
    size_t cache_bytes;
    double *arrival_s, *arrived_s, *sorted; /* [threads] */
};

/* Makes a failure of any rank one of all, with the reason of the first of them. Collective. Returns 0, or -1. */
int finegrain_agree(const struct finegrain_measure *measure, int result, struct error *error);

/* Does an iteration of either way with a comparison of all content. Collective. Returns 0 on all ranks, or -1 on all
 * ranks with the same reason. */
int finegrain_measure_check(struct finegrain_measure *measure, struct error *error);

/* Measures a trial, from 0 on. Rank 0 prints its rows. Returns as finegrain_measure_check(). */
int finegrain_measure_trial(struct finegrain_measure *measure, uint64_t trial, struct error *error);

#endif
