/* Fits copies between a GPU and its host (Bienz 2021, Table II): a line of time over size for each direction and
 * socket, of pinned memory, as a program sees them by the wall clock. The other samples of
 * calibrate/benchmark/gpu_copy.c have no rows. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/benchmark/fits.h"
#include "calibrate/fit/benchmark/launches.h"

/* Says which samples are fitted. */
struct direction {
    enum level level;
    enum variant variant;
    const char *tau, *bw;
};

static const struct direction directions[] = {
    {LEVEL_INTRA_SOCKET, VARIANT_TO_PINNED, "tau_to_gpu", "bw_to_gpu"},
    {LEVEL_INTRA_SOCKET, VARIANT_FROM_PINNED, "tau_from_gpu", "bw_from_gpu"},
    {LEVEL_INTER_SOCKET, VARIANT_TO_PINNED, "tau_to_gpu", "bw_to_gpu"},
    {LEVEL_INTER_SOCKET, VARIANT_FROM_PINNED, "tau_from_gpu", "bw_from_gpu"},
};

/* Fits the line. Returns 0; 1 where the samples give no line, -1 without memory. */
static int fit_line(const struct samples *samples, const struct fit_options *options, const struct direction *direction,
                    struct benchmark_points *points, struct line *line)
{
    const struct sample like = {.benchmark = BENCHMARK_GPU_COPY,
                                .variant = (uint8_t)direction->variant,
                                .level = (uint8_t)direction->level,
                                .n = 1};
    if (benchmark_points_make(samples, &like, options->statistic, 0, points) != 0)
        return -1;
    return line_fit(points->bytes, points->seconds, points->n_points, options->method, NULL, line) == 0 ? 0 : 1;
}

static int estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                    double *values)
{
    struct benchmark_points points;
    struct line line;
    int result = fit_line(samples, options, context, &points, &line);
    if (result == 0) {
        values[0] = line.intercept.value;
        values[1] = line.slope.value;
    }
    benchmark_points_release(&points);
    return result;
}

/* Appends the rows of one direction. Returns 0, or -1 without memory. */
static int append(const struct samples *samples, const struct fit_options *options, const struct direction *direction,
                  struct machine *machine, FILE *notes)
{
    struct benchmark_points points;
    struct line line;
    char method[24];
    int result = fit_line(samples, options, direction, &points, &line);
    size_t n_points = points.n_points, n_samples = points.n_samples;
    benchmark_points_release(&points);
    if (result == 1 && n_points > 0)
        benchmark_note(notes, "%s %s: left out: %zu sizes measured, a line needs two", level_name[direction->level],
                       direction->bw, n_points);
    if (result != 0)
        return result < 0 ? -1 : 0;
    struct line_value *const values[] = {&line.intercept, &line.slope};
    if (launches_widen(samples, BENCHMARK_GPU_COPY, estimate, options, direction, values, 2) != 0)
        return -1;
    struct line_value bandwidth = benchmark_rate(1, &line.slope);
    benchmark_method(options, line.kind, method);
    if (benchmark_append(machine, direction->level, PROTOCOL_ANY, direction->tau, MACHINE_NO_N, &line.intercept, "s",
                         n_samples, method) != 0)
        return -1;
    return benchmark_append(machine, direction->level, PROTOCOL_ANY, direction->bw, 1, &bandwidth, "B/s", n_samples,
                            method);
}

int fit_gpu(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
            struct error *error)
{
    for (size_t i = 0; i < sizeof directions / sizeof directions[0]; i++)
        if (append(samples, options, &directions[i], machine, notes) != 0)
            return error_set(error, "no memory");
    return 0;
}
