/* Makes one result of the times of a configuration's iterations, and writes results (share/man/mpistair.5). */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_ROW_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "calibrate/finegrain/finegrain_config.h"
#include "share/base/error.h"
#include "calibrate/job/launcher.h"

/* An iteration. Every (trial, iteration) is there once of either way. */
struct finegrain_sample {
    uint64_t trial, iteration; /* from 1 on */
    bool is_fine;
    double seconds;            /* of the slowest rank */
    double last_arrival_s;     /* when the last thread of all was to arrive */
    double oversleep_s;        /* how much later it did */
    double delay_s;            /* the last one's distance from the one in the middle, as planned */
    double median_oversleep_s; /* of all threads of the rank where it is largest */
};

struct finegrain_samples {
    struct finegrain_sample *samples; /* [n] in the order in which they were measured */
    size_t n;
    int ranks;
    unsigned long buffers_per_rank;
};
void finegrain_samples_release(struct finegrain_samples *samples);

/* A median and its 95 % interval; NaN where there are fewer than six values to bound it. */
struct finegrain_bounded {
    double value, low, high;
};

struct finegrain_row {
    const struct finegrain_config *config; /* borrowed */
    const char *mpi;                       /* mpich, openmpi */
    int ranks;
    unsigned long buffers_per_rank;
    struct finegrain_bounded bsp_s, fine_s, speedup_percent;
    double oversleep_s;        /* median of the last arrival's */
    double median_oversleep_s; /* median of that of all threads */
    char void_reason[128];     /* empty: the row is valid */
};

/* Largest oversleep of the last arrival, as a share of the delay that the interface can use, in a valid row. */
#define FINEGRAIN_OVERSLEEP_MOST 0.1

/* Makes a row. Returns 0, or -1 with the reason: an iteration is missing or there twice. */
int finegrain_row_make(const struct finegrain_config *config, const char *mpi, const struct finegrain_samples *samples,
                       struct finegrain_row *row, struct error *error);

#define FINEGRAIN_ROW_HEADER                                                                                           \
    "interface,rma,mpi,ranks,buffers_per_rank,peers,bytes,threads,parts,compute_s,arrivals,seed,trials,iterations,"    \
    "bsp_s,bsp_low_s,bsp_high_s,fine_s,fine_low_s,fine_high_s,speedup_percent,speedup_low_percent,"                    \
    "speedup_high_percent,oversleep_s,void"
#define FINEGRAIN_RAW_HEADER "trial,iteration,way,seconds,last_arrival_s,oversleep_s"

/* Write a row in one of the formats; CSV without the header. JSON returns -1 with the reason where that fails. */
void finegrain_row_write_csv(FILE *stream, const struct finegrain_row *row);
void finegrain_row_write_text(FILE *stream, const struct finegrain_row *row);
int finegrain_row_write_json(FILE *stream, const struct finegrain_row *row, struct error *error);

/* Writes all iterations, with the header. */
void finegrain_samples_write(FILE *stream, const struct finegrain_samples *samples);

/* Runs a configuration of the benchmark of fine-grained messaging under the user's launcher. */

/* Measures a configuration. The times of arrivals of a trace go through a file in this folder, where ranks on other
 * nodes find it as well. The launcher is identified. Returns 0 with samples for finegrain_samples_release(); or -1 with
 * the reason, and in *code the exit code: the program's, 1, or 128 and the signal that ended it. */
int finegrain_job_run(const struct launcher *launcher, const struct finegrain_config *config,
                      struct finegrain_samples *samples, int *code, struct error *error);

#endif
