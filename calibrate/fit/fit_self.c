/* Fits messages of a rank to itself: one line of time over size, one time a size, as T = tau + s / BW(1). One protocol
 * serves all sizes: no model charges for these messages by protocol, and the line's method says how it was fitted. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/launches.h"

/* Fits the line. Returns 0; 1 where the samples give no line, -1 without memory. */
static int self_line(const struct samples *samples, const struct fit_options *options, struct benchmark_points *points,
                     struct line *line)
{
    const struct sample like = {.benchmark = BENCHMARK_SELF, .level = LEVEL_SELF, .n = 1};
    if (benchmark_points_make(samples, &like, options->statistic, 0, points) != 0)
        return -1;
    return line_fit(points->bytes, points->seconds, points->n_points, options->method, NULL, line) == 0 ? 0 : 1;
}

static int estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                    double *values)
{
    (void)context;
    struct benchmark_points points;
    struct line line;
    int result = self_line(samples, options, &points, &line);
    if (result == 0) {
        values[0] = line.intercept.value;
        values[1] = line.slope.value;
    }
    benchmark_points_release(&points);
    return result;
}

int fit_self(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
             struct error *error)
{
    struct benchmark_points points;
    struct line line;
    int result = self_line(samples, options, &points, &line);
    if (result == 1 && points.n_points > 0)
        benchmark_note(notes, "self: left out: %zu sizes measured, a line needs two", points.n_points);
    if (result == 0) {
        struct line_value *const values[] = {&line.intercept, &line.slope};
        result = launches_widen(samples, BENCHMARK_SELF, estimate, options, NULL, values, 2);
        struct line_value bandwidth = benchmark_rate(1, &line.slope);
        char method[24];
        benchmark_method(options, line.kind, method);
        if (result == 0)
            result = benchmark_append(machine, LEVEL_SELF, PROTOCOL_ANY, "tau", MACHINE_NO_N, &line.intercept, "s",
                                      points.n_samples, method);
        if (result == 0)
            result = benchmark_append(machine, LEVEL_SELF, PROTOCOL_ANY, "bw", 1, &bandwidth, "B/s", points.n_samples,
                                      method);
    }
    benchmark_points_release(&points);
    return result < 0 ? error_set(error, "no memory") : 0;
}
