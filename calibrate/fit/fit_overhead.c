/* Fits what a post costs its caller, for each level and protocol: overhead_send and overhead_receive.
 *
 * The samples (calibrate/benchmark/overhead.c) are the times of MPI_Isend and MPI_Irecv by size. A value is the median
 * over the sizes of its protocol, each by its own median (or minimum), and its interval holds all of them. An MPI that
 * copies eager messages within MPI_Isend takes longer for more bytes. Where three sizes or more each take longer than
 * the one before, or a line through them surely rises, and the cost at least doubles within the protocol, overhead_send
 * is the line's value at no bytes and overhead_send_byte its slope: a post of s bytes costs overhead_send +
 * s overhead_send_byte. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/launches.h"

/* A line needs that many sizes, and must grow by that part of its first point. */
#define LINE_SIZES_MIN 3
#define GROWTH_MIN     1.0

static const struct call {
    const char *quantity;
    const char *per_byte; /* NULL: it does not look at the bytes */
    enum variant variant;
} calls[] = {
    {"overhead_send", "overhead_send_byte", VARIANT_SEND},
    {"overhead_receive", NULL, VARIANT_RECEIVE},
};

/* Says which samples are fitted, and how. */
struct fitted {
    const struct call *call;
    enum level level;
    const struct machine_protocols *protocols;
    enum machine_protocol protocol;
    bool is_line;
};

/* Makes the points of the protocol. Returns 0, or -1 without memory. */
static int make_points(const struct samples *samples, const struct fit_options *options, const struct fitted *fitted,
                       struct benchmark_points *points)
{
    const struct sample like = {.benchmark = BENCHMARK_OVERHEAD,
                                .variant = (uint8_t)fitted->call->variant,
                                .level = (uint8_t)fitted->level,
                                .n = 1};
    if (benchmark_points_make(samples, &like, options->statistic, 0, points) != 0)
        return -1;
    benchmark_points_keep(points, fitted->protocols, fitted->protocol);
    return 0;
}

static bool ascends(const struct benchmark_points *points)
{
    for (size_t i = 1; i < points->n_points; i++)
        if (!(points->seconds[i] > points->seconds[i - 1]))
            return false;
    return true;
}

/* Says whether the cost clearly grows with the bytes. */
static bool grows(const struct benchmark_points *points, enum line_method method, struct line *line)
{
    size_t n = points->n_points;
    if (n < LINE_SIZES_MIN || line_fit(points->bytes, points->seconds, n, method, NULL, line) != 0)
        return false;
    double first_s = line->intercept.value + line->slope.value * points->bytes[0];
    double growth_s = line->slope.value * (points->bytes[n - 1] - points->bytes[0]);
    bool is_own = line->kind == LINE_PLAIN || line->kind == LINE_THROUGH_ORIGIN;
    bool rises = line->slope.low > 0 || ascends(points);
    return is_own && rises && growth_s >= GROWTH_MIN * first_s;
}

/* Returns the median of the points, which lose their order, and the least and the largest of them. */
static struct line_value middle(struct benchmark_points *points)
{
    struct line_value value = {0, points->seconds[0], points->seconds[0]};
    for (size_t i = 1; i < points->n_points; i++) {
        value.low = fmin(value.low, points->seconds[i]);
        value.high = fmax(value.high, points->seconds[i]);
    }
    value.value = samples_reduce(points->seconds, points->n_points, STATISTIC_MEDIAN);
    return value;
}

/* Estimates for launches_widen. */
static int estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                    double *values)
{
    const struct fitted *fitted = context;
    struct benchmark_points points;
    struct line line;
    int result = make_points(samples, options, fitted, &points);
    if (result == 0 && points.n_points == 0)
        result = 1;
    if (result == 0 && fitted->is_line) {
        result = line_fit(points.bytes, points.seconds, points.n_points, options->method, NULL, &line);
        if (result == 0) {
            values[0] = line.intercept.value;
            values[1] = line.slope.value;
        }
    } else if (result == 0) {
        values[0] = middle(&points).value;
    }
    benchmark_points_release(&points);
    return result;
}

/* Appends the rows of one call, level and protocol. Returns 0, or -1 without memory. */
static int append(const struct samples *samples, const struct fit_options *options, struct fitted *fitted,
                  struct machine *machine)
{
    struct benchmark_points points;
    struct line line;
    if (make_points(samples, options, fitted, &points) != 0)
        return -1;
    size_t n_samples = points.n_samples;
    if (points.n_points == 0) {
        benchmark_points_release(&points);
        return 0;
    }
    fitted->is_line = fitted->call->per_byte != NULL && grows(&points, options->method, &line);
    struct line_value cost = fitted->is_line ? line.intercept : middle(&points);
    struct line_value *const values[] = {&cost, &line.slope};
    benchmark_points_release(&points);
    char method[24] = "median";
    if (fitted->is_line)
        benchmark_method(options, line.kind, method);
    int result =
        launches_widen(samples, BENCHMARK_OVERHEAD, estimate, options, fitted, values, fitted->is_line ? 2 : 1);
    cost.low = cost.low < 0 ? 0 : cost.low;
    if (fitted->is_line && line.slope.low < 0)
        line.slope.low = 0;
    if (result == 0)
        result = benchmark_append(machine, fitted->level, fitted->protocol, fitted->call->quantity, MACHINE_NO_N, &cost,
                                  "s", n_samples, method);
    if (result == 0 && fitted->is_line)
        result = benchmark_append(machine, fitted->level, fitted->protocol, fitted->call->per_byte, MACHINE_NO_N,
                                  &line.slope, "s/B", n_samples, method);
    return result;
}

int fit_overhead(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
                 struct error *error)
{
    (void)notes;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct machine_protocols protocols;
        struct error none;
        if (machine_protocols(machine, (enum level)level, &protocols, &none) != 0)
            continue;
        for (size_t i = 0; i < protocols.n; i++)
            for (size_t j = 0; j < sizeof calls / sizeof calls[0]; j++) {
                struct fitted fitted = {&calls[j], (enum level)level, &protocols, protocols.protocol[i], false};
                if (append(samples, options, &fitted, machine) != 0)
                    return error_set(error, "no memory");
            }
    }
    return 0;
}
