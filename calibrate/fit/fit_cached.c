/* Fits messages whose buffers are in caches (calibrate/benchmark/cached.c), for each level of a node and protocol, as
 * those from memory are fitted: the slope of time over size gives bw_cached(1) of messages one way, bw_cached(2) of
 * messages both ways at once. The latency is that of messages from memory: no buffer takes part in it. The row
 * cached_bytes is the largest size whose bandwidth one way is at least three quarters of the best: the near caches do
 * not hold larger buffers, and their samples are left out. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/launches.h"

/* Is the part of the best bandwidth that buffers in the near caches have. */
#define NEAR_SHARE 0.75

/* Says which samples are fitted. */
struct fitted {
    enum level level;
    enum variant variant;
    const struct machine_protocols *protocols;
    enum machine_protocol protocol;
    double most_bytes;
};

/* Makes the points of a variant at a level. Returns 0, or -1 without memory. */
static int make_points(const struct samples *samples, const struct fit_options *options, enum level level,
                       enum variant variant, struct benchmark_points *points)
{
    const struct sample like = {
        .benchmark = BENCHMARK_CACHED, .variant = (uint8_t)variant, .level = (uint8_t)level, .n = 1};
    return benchmark_points_make(samples, &like, options->statistic, 0, points);
}

/* Fits the line. Returns 0; 1 where the samples give no line, -1 without memory. */
static int cached_line(const struct samples *samples, const struct fit_options *options, const struct fitted *fitted,
                       struct line *line, size_t *n_samples)
{
    struct benchmark_points points;
    if (make_points(samples, options, fitted->level, fitted->variant, &points) != 0)
        return -1;
    benchmark_points_keep(&points, fitted->protocols, fitted->protocol);
    while (points.n_points > 0 && points.bytes[points.n_points - 1] > fitted->most_bytes)
        points.n_samples -= points.counts[--points.n_points];
    int result = line_fit(points.bytes, points.seconds, points.n_points, options->method, NULL, line) == 0 ? 0 : 1;
    *n_samples = points.n_samples;
    benchmark_points_release(&points);
    return result;
}

static int estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                    double *values)
{
    struct line line;
    size_t n_samples;
    int result = cached_line(samples, options, context, &line, &n_samples);
    if (result == 0)
        values[0] = line.slope.value;
    return result;
}

/* Appends the rows of one variant; *n_rows counts them. Returns 0, or -1 without memory. */
static int append(const struct samples *samples, const struct fit_options *options, const struct fitted *fitted,
                  struct machine *machine, size_t *n_rows)
{
    struct line line;
    size_t n_samples;
    int result = cached_line(samples, options, fitted, &line, &n_samples);
    if (result != 0)
        return result < 0 ? -1 : 0;
    struct line_value *const values[] = {&line.slope};
    char method[24];
    benchmark_method(options, line.kind, method);
    uint64_t n = fitted->variant == VARIANT_ONE_WAY ? 1 : 2;
    if (launches_widen(samples, BENCHMARK_CACHED, estimate, options, fitted, values, 1) != 0)
        return -1;
    struct line_value bandwidth = benchmark_rate(n, &line.slope);
    *n_rows += 1;
    return benchmark_append(machine, fitted->level, fitted->protocol, "bw_cached", n, &bandwidth, "B/s", n_samples,
                            method);
}

/* Finds the largest size that the near caches hold, 0 where none was measured, and how many samples say so. Returns 0,
 * or -1 without memory. */
static int find_most(const struct samples *samples, const struct fit_options *options, enum level level,
                     double *most_bytes, size_t *n_samples)
{
    struct benchmark_points points;
    double best = 0; /* B/s */
    if (make_points(samples, options, level, VARIANT_ONE_WAY, &points) != 0)
        return -1;
    for (size_t i = 0; i < points.n_points; i++)
        best = fmax(best, points.bytes[i] / points.seconds[i]);
    *most_bytes = 0;
    for (size_t i = 0; i < points.n_points; i++)
        if (points.bytes[i] / points.seconds[i] >= NEAR_SHARE * best)
            *most_bytes = points.bytes[i];
    *n_samples = points.n_samples;
    benchmark_points_release(&points);
    return 0;
}

int fit_cached(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
               struct error *error)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level <= LEVEL_INTER_SOCKET; level++) {
        struct machine_protocols protocols;
        struct error none;
        size_t n_rows = 0, n_samples;
        struct line_value most = {0, NAN, NAN};
        if (find_most(samples, options, level, &most.value, &n_samples) != 0)
            return error_set(error, "no memory");
        if (!(most.value > 0) || machine_protocols(machine, level, &protocols, &none) != 0)
            continue;
        for (size_t i = 0; i < protocols.n; i++)
            for (int variant = VARIANT_ONE_WAY; variant <= VARIANT_BOTH_WAYS; variant++) {
                const struct fitted fitted = {level, (enum variant)variant, &protocols, protocols.protocol[i],
                                              most.value};
                if (append(samples, options, &fitted, machine, &n_rows) != 0)
                    return error_set(error, "no memory");
            }
        if (n_rows < 2 * protocols.n)
            benchmark_note(notes,
                           "%s: %zu of %zu rows bw_cached left out: too few sizes, or times that do not "
                           "grow with them",
                           level_name[level], 2 * protocols.n - n_rows, 2 * protocols.n);
        if (n_rows > 0 && benchmark_append(machine, level, PROTOCOL_ANY, "cached_bytes", MACHINE_NO_N, &most, "B",
                                           n_samples, "three-quarters") != 0)
            return error_set(error, "no memory");
    }
    return 0;
}
