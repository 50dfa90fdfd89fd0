/* Raw samples of calibration, and what a fit takes from them: one time a size.
 *
 * RAW.csv has a header with level,bytes,seconds and optionally n (1 if absent) and benchmark; other columns are
 * ignored. benchmark matters in one place only: where rows with n = 1 come from both `pingpong` and `algorithm1`, the
 * first give the latencies and the small messages, the second the bandwidth of the large ones (fit_machine.h).
 */
#ifndef MPISTAIR_CALIBRATE_SAMPLES_H
#define MPISTAIR_CALIBRATE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "machine.h"

enum benchmark { BENCHMARK_PINGPONG = 0, BENCHMARK_ALGORITHM1 }; /* any other name counts as ping-pong */

struct sample {
    enum machine_level level;
    enum benchmark benchmark;
    uint64_t n; /* processes that share the bandwidth */
    uint64_t bytes;
    double seconds;
};

struct samples {
    struct sample *samples; /* [n_samples] by level, n, benchmark, bytes, seconds once sorted */
    size_t n_samples;
    size_t capacity;
};

/* 0, or -1 with file:line, what was expected in error and samples untouched. The result is sorted. */
int samples_read_csv(const char *path, struct samples *samples, struct error *error);
int samples_append(struct samples *samples, const struct sample *sample);
void samples_sort(struct samples *samples);
void samples_release(struct samples *samples);

enum samples_statistic { STATISTIC_MEDIAN = 0, STATISTIC_MIN };

/* One time a size of one (level, n, benchmark), by ascending size. */
struct curve {
    enum machine_level level;
    enum benchmark benchmark;
    uint64_t n;
    size_t n_points;
    double *bytes;     /* [n_points] */
    double *seconds;   /* [n_points] */
    size_t *n_samples; /* [n_points] */
};

struct curves {
    struct curve *curves; /* by level, n, benchmark */
    size_t n_curves;
};

/* samples must be sorted. 0, or -1 without memory. */
int curves_make(const struct samples *samples, enum samples_statistic statistic, struct curves *curves);
void curves_release(struct curves *curves);

/* The points of a curve from the first size >= begin_bytes to the last < end_bytes: [*first, *end). */
void curve_range(const struct curve *curve, double begin_bytes, double end_bytes, size_t *first, size_t *end);

#endif
