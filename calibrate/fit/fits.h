/* Declares the fits of benchmarks other than ping-pong and Algorithm 1, one file each, and what they share. */
#ifndef MPISTAIR_CALIBRATE_BENCHMARKS_H
#define MPISTAIR_CALIBRATE_BENCHMARKS_H

#include <stdio.h>

#include "calibrate/fit/fit_options.h"

/* Fits one benchmark other than ping-pong and Algorithm 1, one file each (fit_queue.c, ...): appends its rows
 * to machine, and says on notes (may be NULL) what the samples do not show. Returns 0, even if there are no samples of
 * it, or they show nothing; -1 with the reason in error. */
typedef int fit_benchmark(const struct samples *samples, const struct fit_options *options, struct machine *machine,
                          FILE *notes, struct error *error);

fit_benchmark fit_backlog;
fit_benchmark fit_buffer;
fit_benchmark fit_burst;
fit_benchmark fit_cached;
fit_benchmark fit_contention;
fit_benchmark fit_domain;
fit_benchmark fit_fine;
fit_benchmark fit_gpu;
fit_benchmark fit_injection;
fit_benchmark fit_overhead;
fit_benchmark fit_progress;
fit_benchmark fit_self;
fit_benchmark fit_queue;

/* Is the method of rows of a queue that is not searched linearly: the value is next to 0. */
#define QUEUE_NOT_LINEAR "no-linear-search"

/* Returns the median or minimum of the seconds of n_samples >= 1 neighbours, sorted by seconds. */
double benchmark_statistic(const struct sample *samples, size_t n_samples, enum samples_statistic statistic);

/* Holds one time a size of one (benchmark, variant, level, n), from the size from_bytes on, ascending. */
struct benchmark_points {
    size_t n_points;
    double *bytes;    /* [n_points] */
    double *seconds;  /* [n_points] */
    size_t *counts;   /* [n_points], samples of each */
    size_t n_samples; /* samples of all points */
};

/* Makes the points of the samples whose benchmark, variant, level, n and count are those of like, whose count is 0
 * where the samples have one a size. samples must be sorted. Returns 0, or -1 without memory. */
int benchmark_points_make(const struct samples *samples, const struct sample *like, enum samples_statistic statistic,
                          double from_bytes, struct benchmark_points *points);
/* Leaves the points whose sizes the protocol serves. */
void benchmark_points_keep(struct benchmark_points *points, const struct machine_protocols *protocols,
                           enum machine_protocol protocol);
void benchmark_points_release(struct benchmark_points *points);

/* Returns n / slope, with the interval's ends exchanged; there is no upper end where the slope's interval reaches 0. */
struct line_value benchmark_rate(uint64_t n, const struct line_value *slope);

/* Writes how a line was fitted, for the column method: relative-median, ols-min-origin, ... */
void benchmark_method(const struct fit_options *options, enum line_kind kind, char method[24]);

/* Appends one row. Returns 0, or -1 without memory. */
int benchmark_append(struct machine *machine, enum level level, enum machine_protocol protocol, const char *quantity,
                     uint64_t n, const struct line_value *value, const char *unit, size_t n_samples,
                     const char *method);

/* Returns the value; NaN for an infinite one, since a table holds finite numbers and says "not known" for the rest. */
double benchmark_finite(double value);

/* Prints one line on notes, which may be NULL. */
void benchmark_note(FILE *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
