/* What the fits of single benchmarks share: what they are given, points of a line, and rows of the table. */
#ifndef MPISTAIR_CALIBRATE_FITS_H
#define MPISTAIR_CALIBRATE_FITS_H

#include <stdbool.h>
#include <stdio.h>

#include "calibrate/fit/line.h"
#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

/* Most protocols of a level. */
enum { SEGMENT_MAX = 3 };

/* Smallest sizes of the protocols of one level: bytes[0] = 0 < bytes[1] < ...; n = 0: to be found in the samples. */
struct fit_thresholds {
    int n;
    double bytes[SEGMENT_MAX];
    enum machine_protocol protocol[SEGMENT_MAX];
    const char *origin[SEGMENT_MAX]; /* for the column method: given, segmentation, mpi_t, probe */
    double low, high;                /* interval of the last one, where a probe found it (n_samples > 0) */
    size_t n_samples;
};

struct fit_options {
    enum line_method method;
    enum samples_statistic statistic;
    struct fit_thresholds thresholds[LEVEL_COUNT];
    unsigned replicates; /* replicates of the bootstrap; 0: 200 */
    bool may_be_empty;   /* a table without a row is no error */
};

struct fit {
    const struct samples *samples; /* sorted */
    const struct fit_options *options;
    struct machine *machine; /* rows are appended to it; it has those of the fits before */
    FILE *notes;             /* remarks on what the samples do not show, a line each; NULL: none */
};

/* The fit of one benchmark; it appends no row where there are no samples of it, or they show nothing. */
typedef void fit_benchmark(const struct fit *fit);

fit_benchmark fit_backlog, fit_buffer, fit_burst, fit_cached, fit_contention, fit_fine, fit_gpu, fit_injection,
    fit_overhead, fit_progress, fit_queue, fit_self;

/* Method of the rows of a queue that is not searched linearly: the value is next to 0. */
#define QUEUE_NOT_LINEAR "no-linear-search"

/* One time a size, ascending by size. */
struct points {
    size_t n_points;
    double *bytes;    /* [n_points] */
    double *seconds;  /* [n_points] */
    size_t *counts;   /* [n_points] samples of each */
    size_t n_samples; /* samples of all points */
};

/* Which samples become points: those whose benchmark, variant, level, n and count (0: any) are those of like, ... */
struct points_wanted {
    struct sample like;
    double from_bytes;
    double most_bytes;                         /* 0: no limit */
    const struct machine_protocols *protocols; /* NULL: of any protocol */
    enum machine_protocol protocol;
};

/* Makes the points, for points_release. */
struct points points_make(const struct samples *samples, enum samples_statistic statistic,
                          const struct points_wanted *wanted);
void points_release(struct points *points);

/* n / slope, with the interval's ends exchanged; there is no upper end where the slope's interval reaches 0. */
struct line_value fit_rate(uint64_t n, const struct line_value *slope);

/* Writes how a line was fitted, for the column method: relative-median, ols-min-origin, ... */
void fit_method(const struct fit_options *options, enum line_kind kind, char method[24]);

/* Raises a value and the ends of its interval to 0; NaN stays NaN. */
struct line_value fit_not_negative(struct line_value value);
/* NaN for an infinite value: a table holds finite numbers, and says "not known" for the rest. */
double fit_finite(double value);

/* Appends a row; n: MACHINE_NO_N where the quantity has none. */
void fit_row(struct machine *machine, enum level level, enum machine_protocol protocol, const char *quantity,
             uint64_t n, struct line_value value, size_t n_samples, const char *method);

/* Prints one line on notes, which may be NULL. */
void fit_note(FILE *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
