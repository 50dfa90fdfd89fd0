/* Fits what a table has of GPUs: a line of time over size for copies between a GPU and its host, of pinned memory, as a
 * program sees them by the wall clock (Bienz 2021, Table II), for messages between GPUs by an MPI that takes their
 * memory (Table I), and for processes that copy from one GPU at once. The other samples of
 * calibrate/benchmark/gpu/gpu_copy.c and gpu_paths.c have no rows: the models of ways are held against them. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/launches.h"

/* Says which samples are fitted. */
struct direction {
    enum benchmark benchmark;
    enum level level;
    enum variant variant;
    uint64_t n;           /* processes that copy at once */
    const char *tau, *bw; /* tau NULL: that of n = 1 is the one of the table */
};

static const struct direction directions[] = {
    {BENCHMARK_GPU_COPY, LEVEL_INTRA_SOCKET, VARIANT_TO_PINNED, 1, "tau_to_gpu", "bw_to_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_PUSH, 2, NULL, "bw_to_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_PUSH, 4, NULL, "bw_to_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_PUSH, 8, NULL, "bw_to_gpu"},
    {BENCHMARK_GPU_COPY, LEVEL_INTRA_SOCKET, VARIANT_FROM_PINNED, 1, "tau_from_gpu", "bw_from_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_PULL, 2, NULL, "bw_from_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_PULL, 4, NULL, "bw_from_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_PULL, 8, NULL, "bw_from_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTRA_SOCKET, VARIANT_GPUDIRECT, 1, "tau_gpu", "bw_gpu"},
    {BENCHMARK_GPU_COPY, LEVEL_INTER_SOCKET, VARIANT_TO_PINNED, 1, "tau_to_gpu", "bw_to_gpu"},
    {BENCHMARK_GPU_COPY, LEVEL_INTER_SOCKET, VARIANT_FROM_PINNED, 1, "tau_from_gpu", "bw_from_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTER_SOCKET, VARIANT_GPUDIRECT, 1, "tau_gpu", "bw_gpu"},
    {BENCHMARK_GPU_PATHS, LEVEL_INTER_NODE, VARIANT_GPUDIRECT, 1, "tau_gpu", "bw_gpu"},
};

/* Fits the line. Returns 0; 1 where the samples give no line, -1 without memory. */
static int fit_line(const struct samples *samples, const struct fit_options *options, const struct direction *direction,
                    struct benchmark_points *points, struct line *line)
{
    const struct sample like = {.benchmark = (uint8_t)direction->benchmark,
                                .variant = (uint8_t)direction->variant,
                                .level = (uint8_t)direction->level,
                                .n = direction->n,
                                .count = 1};
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
    if (launches_widen(samples, direction->benchmark, estimate, options, direction, values, 2) != 0)
        return -1;
    struct line_value bandwidth = benchmark_rate(direction->n, &line.slope);
    benchmark_method(options, line.kind, method);
    if (direction->tau != NULL && benchmark_append(machine, direction->level, PROTOCOL_ANY, direction->tau,
                                                   MACHINE_NO_N, &line.intercept, "s", n_samples, method) != 0)
        return -1;
    return benchmark_append(machine, direction->level, PROTOCOL_ANY, direction->bw, direction->n, &bandwidth, "B/s",
                            n_samples, method);
}

int fit_gpu(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
            struct error *error)
{
    for (size_t i = 0; i < sizeof directions / sizeof directions[0]; i++)
        if (append(samples, options, &directions[i], machine, notes) != 0)
            return error_set(error, "no memory");
    return 0;
}
