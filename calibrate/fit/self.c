/* Messages of a rank to itself: one line of time over size, one time a size, as T = tau + s / BW(1). One protocol
 * serves all sizes: no model charges for these messages by protocol, and the line's method says how it was fitted. */
#include <math.h>
#include <stdlib.h>

#include "benchmarks.h"

int fit_self(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
             struct error *error)
{
    struct benchmark_points points;
    if (benchmark_points_make(samples, BENCHMARK_SELF, LEVEL_SELF, 1, options->statistic, 0, &points) != 0)
        return error_set(error, "no memory");
    int result = 0;
    struct line line;
    if (points.n_points == 0) {
        ;
    } else if (line_fit(points.bytes, points.seconds, points.n_points, options->method, NULL, &line) != 0) {
        benchmark_note(notes, "self: left out: %zu sizes measured, a line needs two", points.n_points);
    } else {
        struct line_value bandwidth = benchmark_rate(1, &line.slope);
        char method[24];
        benchmark_method(options, line.kind, method);
        if (benchmark_append(machine, LEVEL_SELF, PROTOCOL_ANY, "tau", MACHINE_NO_N, &line.intercept, "s",
                             points.n_samples, method) != 0 ||
            benchmark_append(machine, LEVEL_SELF, PROTOCOL_ANY, "bw", 1, &bandwidth, "B/s", points.n_samples, method) !=
                0)
            result = error_set(error, "no memory");
    }
    benchmark_points_release(&points);
    return result;
}
