/* Fits that are a line of time over size, T = tau + s / bw, with intervals widened by the bootstrap over launches:
 *
 *   - self: messages of a rank to itself. One protocol serves all sizes, as no model charges for them by protocol.
 *   - gpu: copies between a GPU and its host, of pinned memory, by the wall clock (Bienz 2021, Table II), messages
 *     between GPUs by an MPI that takes their memory (Table I), and processes that copy from one GPU at once. The other
 *     samples of calibrate/benchmark/gpu/gpu_copy.c and gpu_paths.c have no rows: the models of ways are held against
 *     them.
 *   - cached: messages whose buffers are in caches (calibrate/benchmark/cached.c), for each level of a node and
 *     protocol: bw_cached(1) one way, bw_cached(2) both ways at once. The latency is that of messages from memory, as
 *     no buffer takes part in it. cached_bytes is the largest size whose bandwidth one way is at least three quarters
 *     of the best: the near caches do not hold larger buffers, and their samples are left out.
 *   - injection: R_N, the rate at which a node injects data into the network (B2, B Table 1; H2). n processes of it
 *     send at the same time, and n / slope is the rate of all together; R_N is the largest of these rates. Where the
 *     last step to more processes still gave more than half of what it would give without a limit, the limit was not
 *     reached, and the row says `lower-bound`. Only sizes of the rendezvous protocol count; a table of one protocol has
 *     R_N for `any`.
 *   - overhead: what a post costs its caller (calibrate/benchmark/overhead.c), for each level and protocol. A value is
 *     the median over the sizes, and its interval holds all of them. An MPI that copies eager messages within MPI_Isend
 *     takes longer for more bytes. Where three sizes or more each take longer than the one before, or a line through
 *     them surely rises, and the cost at least doubles within the protocol, overhead_send is the line's value at no
 *     bytes and overhead_send_byte its slope: a post of s bytes costs overhead_send + s overhead_send_byte.
 *
 * Papers are named as in share/doc/MODELS.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/bootstrap.h"
#include "calibrate/fit/fits.h"
#include "share/base/array.h"

/* Share of the best bandwidth that buffers in the near caches have. */
#define NEAR_SHARE 0.75

/* Sizes that a line of overhead needs, and growth as a share of its first point, at least. */
#define OVERHEAD_SIZES_MIN  3
#define OVERHEAD_GROWTH_MIN 1.0

static bool line_through(const struct points *points, enum line_method method, struct line *line)
{
    return line_fit(points->bytes, points->seconds, points->n_points, method, NULL, line) == 0;
}

/* Estimates intercept and slope for bootstrap_launches; context is a struct points_wanted. */
static bool estimate_line(const struct samples *samples, const struct fit_options *options, const void *context,
                          double *values)
{
    struct line line;
    struct points points = points_make(samples, options->statistic, context);
    bool found = line_through(&points, options->method, &line);
    if (found) {
        values[0] = line.intercept.value;
        values[1] = line.slope.value;
    }
    points_release(&points);
    return found;
}

/* A line with the intervals that the launches give it. */
struct fitted {
    struct line line;
    size_t n_points, n_samples;
    char method[24];
};

/* Returns whether the points allow a line. */
static bool fit_lines_fit_line(const struct fit *fit, const struct points_wanted *wanted, struct fitted *fitted)
{
    struct points points = points_make(fit->samples, fit->options->statistic, wanted);
    bool found = line_through(&points, fit->options->method, &fitted->line);
    fitted->n_points = points.n_points;
    fitted->n_samples = points.n_samples;
    points_release(&points);
    if (!found)
        return false;
    struct line_value *const values[] = {&fitted->line.intercept, &fitted->line.slope};
    fit_method(fit->options, fitted->line.kind, fitted->method);
    bootstrap_launches(fit->samples, wanted->like.benchmark, estimate_line, fit->options, wanted, values, 2);
    return true;
}

/* A line for all sizes of a variant, and its rows. */
struct line_rows {
    struct sample like;
    const char *tau, *bw; /* tau NULL: no row */
};

#define GPU(OF, LEVEL, VARIANT, N)                                                                                     \
    {                                                                                                                  \
        .benchmark = BENCHMARK_GPU_##OF, .level = LEVEL, .variant = VARIANT, .n = N, .count = 1                        \
    }

static const struct line_rows self = {{.benchmark = BENCHMARK_SELF, .level = LEVEL_SELF, .n = 1}, "tau", "bw"};
/* tau of processes that copy at once is that of one. */
static const struct line_rows gpu[] = {
    {GPU(COPY, LEVEL_INTRA_SOCKET, VARIANT_TO_PINNED, 1), "tau_to_gpu", "bw_to_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_PUSH, 2), NULL, "bw_to_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_PUSH, 4), NULL, "bw_to_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_PUSH, 8), NULL, "bw_to_gpu"},
    {GPU(COPY, LEVEL_INTRA_SOCKET, VARIANT_FROM_PINNED, 1), "tau_from_gpu", "bw_from_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_PULL, 2), NULL, "bw_from_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_PULL, 4), NULL, "bw_from_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_PULL, 8), NULL, "bw_from_gpu"},
    {GPU(PATHS, LEVEL_INTRA_SOCKET, VARIANT_GPUDIRECT, 1), "tau_gpu", "bw_gpu"},
    {GPU(COPY, LEVEL_INTER_SOCKET, VARIANT_TO_PINNED, 1), "tau_to_gpu", "bw_to_gpu"},
    {GPU(COPY, LEVEL_INTER_SOCKET, VARIANT_FROM_PINNED, 1), "tau_from_gpu", "bw_from_gpu"},
    {GPU(PATHS, LEVEL_INTER_SOCKET, VARIANT_GPUDIRECT, 1), "tau_gpu", "bw_gpu"},
    {GPU(PATHS, LEVEL_INTER_NODE, VARIANT_GPUDIRECT, 1), "tau_gpu", "bw_gpu"},
};

static void fit_rows(const struct fit *fit, const struct line_rows *rows)
{
    const struct points_wanted wanted = {.like = rows->like};
    enum level level = (enum level)rows->like.level;
    struct fitted fitted;
    if (fit_lines_fit_line(fit, &wanted, &fitted)) {
        if (rows->tau != NULL)
            fit_row(fit->machine, level, PROTOCOL_ANY, rows->tau, MACHINE_NO_N, fitted.line.intercept, fitted.n_samples,
                    fitted.method);
        fit_row(fit->machine, level, PROTOCOL_ANY, rows->bw, rows->like.n, fit_rate(rows->like.n, &fitted.line.slope),
                fitted.n_samples, fitted.method);
    } else if (fitted.n_points > 0) {
        fit_note(fit->notes, "%s%s%s: left out: %zu sizes measured, a line needs two", level_name[level],
                 rows == &self ? "" : " ", rows == &self ? "" : rows->bw, fitted.n_points);
    }
}

void fit_self(const struct fit *fit)
{
    fit_rows(fit, &self);
}

void fit_gpu(const struct fit *fit)
{
    for (size_t i = 0; i < sizeof gpu / sizeof gpu[0]; i++)
        fit_rows(fit, &gpu[i]);
}

/* Finds the largest size that the near caches hold, 0 where none was measured; returns how many samples say so. */
static size_t find_cached_bytes(const struct fit *fit, enum level level, double *most_bytes)
{
    const struct points_wanted wanted = {
        .like = {.benchmark = BENCHMARK_CACHED, .variant = VARIANT_ONE_WAY, .level = (uint8_t)level, .n = 1}};
    struct points points = points_make(fit->samples, fit->options->statistic, &wanted);
    double best = 0; /* B/s */
    for (size_t i = 0; i < points.n_points; i++)
        best = fmax(best, points.bytes[i] / points.seconds[i]);
    *most_bytes = 0;
    for (size_t i = 0; i < points.n_points; i++)
        if (points.bytes[i] / points.seconds[i] >= NEAR_SHARE * best)
            *most_bytes = points.bytes[i];
    size_t n_samples = points.n_samples;
    points_release(&points);
    return n_samples;
}

void fit_cached(const struct fit *fit)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level <= LEVEL_INTER_SOCKET; level++) {
        struct machine_protocols protocols;
        struct fitted fitted;
        double most_bytes;
        size_t n_rows = 0, n_samples = find_cached_bytes(fit, level, &most_bytes);
        if (!(most_bytes > 0) || machine_protocols(fit->machine, level, &protocols, NULL) != 0)
            continue;
        for (size_t i = 0; i < protocols.n; i++)
            for (uint64_t n = 1; n <= 2; n++) {
                const struct points_wanted wanted = {
                    .like = {.benchmark = BENCHMARK_CACHED,
                             .variant = n == 1 ? VARIANT_ONE_WAY : VARIANT_BOTH_WAYS,
                             .level = (uint8_t)level,
                             .n = 1},
                    .most_bytes = most_bytes,
                    .protocols = &protocols,
                    .protocol = protocols.protocol[i],
                };
                if (!fit_lines_fit_line(fit, &wanted, &fitted))
                    continue;
                fit_row(fit->machine, level, protocols.protocol[i], "bw_cached", n, fit_rate(n, &fitted.line.slope),
                        fitted.n_samples, fitted.method);
                n_rows++;
            }
        if (n_rows < 2 * protocols.n)
            fit_note(fit->notes,
                     "%s: %zu of %zu rows bw_cached left out: too few sizes, or times that do not grow with them",
                     level_name[level], 2 * protocols.n - n_rows, 2 * protocols.n);
        if (n_rows > 0)
            fit_row(fit->machine, level, PROTOCOL_ANY, "cached_bytes", MACHINE_NO_N,
                    (struct line_value){most_bytes, NAN, NAN}, n_samples, "three-quarters");
    }
}

/* The rate with n processes. */
struct rate {
    uint64_t n;
    struct line_value bytes_per_s;
    size_t n_samples;
};

/* Returns the smallest size that counts for injection, and the protocol that it has in the table. */
static double rendezvous_from(const struct machine *machine, enum machine_protocol *protocol)
{
    double bytes = 0;
    *protocol = PROTOCOL_RENDEZVOUS;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (row->level != LEVEL_INTER_NODE)
            continue;
        if (row->protocol == PROTOCOL_ANY && strcmp(row->quantity, "bw") == 0)
            *protocol = PROTOCOL_ANY;
        if (row->protocol == PROTOCOL_RENDEZVOUS && strcmp(row->quantity, "threshold") == 0)
            bytes = row->value;
    }
    return bytes;
}

/* Finds the rates by ascending n, for free(); returns their number. */
static size_t find_rates(const struct samples *samples, const struct fit_options *options, double from_bytes,
                         FILE *notes, struct rate **rates)
{
    size_t n_rates = 0;
    uint64_t last_n = 0;
    *rates = NULL;
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        if (sample->benchmark != BENCHMARK_INJECTION || sample->level != LEVEL_INTER_NODE || sample->n == last_n)
            continue;
        last_n = sample->n;
        const struct points_wanted wanted = {
            .like = {.benchmark = BENCHMARK_INJECTION, .level = LEVEL_INTER_NODE, .n = last_n},
            .from_bytes = from_bytes};
        struct line line;
        struct points points = points_make(samples, options->statistic, &wanted);
        array_grow(rates, n_rates, sizeof **rates);
        if (line_through(&points, options->method, &line))
            (*rates)[n_rates++] = (struct rate){last_n, fit_rate(last_n, &line.slope), points.n_samples};
        else
            fit_note(notes, "injection: n = %llu left out: %zu sizes from %.0f B on, a line needs two",
                     (unsigned long long)last_n, points.n_points, from_bytes);
        points_release(&points);
    }
    return n_rates;
}

/* Returns whether the step to the last n gave less than half of what it would without a limit. */
static bool levels_off(const struct rate *rates, size_t n_rates)
{
    if (n_rates < 2)
        return false;
    const struct rate *before = &rates[n_rates - 2], *last = &rates[n_rates - 1];
    double more = (double)last->n / (double)before->n - 1;
    return last->bytes_per_s.value / before->bytes_per_s.value - 1 < more / 2;
}

static struct rate largest_of(const struct rate *rates, size_t n_rates)
{
    struct rate largest = rates[0];
    for (size_t i = 1; i < n_rates; i++)
        if (rates[i].bytes_per_s.value > largest.bytes_per_s.value)
            largest = rates[i];
    return largest;
}

/* Estimates for bootstrap_launches; context is the smallest size that counts. */
static bool estimate_injection(const struct samples *samples, const struct fit_options *options, const void *context,
                               double *values)
{
    struct rate *rates;
    size_t n_rates = find_rates(samples, options, *(const double *)context, NULL, &rates);
    if (n_rates > 0)
        values[0] = largest_of(rates, n_rates).bytes_per_s.value;
    free(rates);
    return n_rates > 0;
}

void fit_injection(const struct fit *fit)
{
    struct rate *rates;
    enum machine_protocol protocol;
    double from_bytes = rendezvous_from(fit->machine, &protocol);
    size_t n_rates = find_rates(fit->samples, fit->options, from_bytes, fit->notes, &rates);
    if (n_rates > 0) {
        struct rate largest = largest_of(rates, n_rates);
        struct line_value *const value = &largest.bytes_per_s;
        bool reached = levels_off(rates, n_rates);
        if (!reached)
            fit_note(fit->notes,
                     "injection: the node's limit is not reached with %llu processes: it is at least %.4g MB/s",
                     (unsigned long long)rates[n_rates - 1].n, value->value / 1e6);
        bootstrap_launches(fit->samples, BENCHMARK_INJECTION, estimate_injection, fit->options, &from_bytes, &value, 1);
        fit_row(fit->machine, LEVEL_INTER_NODE, protocol, "injection", MACHINE_NO_N, *value, largest.n_samples,
                reached ? "largest-rate" : "lower-bound");
    }
    free(rates);
}

static bool ascends(const struct points *points)
{
    for (size_t i = 1; i < points->n_points; i++)
        if (!(points->seconds[i] > points->seconds[i - 1]))
            return false;
    return true;
}

/* Returns whether the cost of a post clearly grows with the bytes. */
static bool grows(const struct points *points, enum line_method method)
{
    struct line line;
    size_t n = points->n_points;
    if (n < OVERHEAD_SIZES_MIN || !line_through(points, method, &line))
        return false;
    double first_s = line.intercept.value + line.slope.value * points->bytes[0];
    double growth_s = line.slope.value * (points->bytes[n - 1] - points->bytes[0]);
    bool is_own = line.kind == LINE_PLAIN || line.kind == LINE_THROUGH_ORIGIN;
    bool rises = line.slope.low > 0 || ascends(points);
    return is_own && rises && growth_s >= OVERHEAD_GROWTH_MIN * first_s;
}

/* Returns the median of the points, which lose their order, and the least and the largest of them. */
static struct line_value middle(struct points *points)
{
    struct line_value value = {0, points->seconds[0], points->seconds[0]};
    for (size_t i = 1; i < points->n_points; i++) {
        value.low = fmin(value.low, points->seconds[i]);
        value.high = fmax(value.high, points->seconds[i]);
    }
    value.value = samples_reduce(points->seconds, points->n_points, STATISTIC_MEDIAN);
    return value;
}

/* Estimates the median over the sizes for bootstrap_launches; context is a struct points_wanted. */
static bool estimate_middle(const struct samples *samples, const struct fit_options *options, const void *context,
                            double *values)
{
    struct points points = points_make(samples, options->statistic, context);
    bool found = points.n_points > 0;
    if (found)
        values[0] = middle(&points).value;
    points_release(&points);
    return found;
}

/* Appends the rows of one call, level and protocol. per_byte NULL: the call does not look at the bytes. */
static void fit_post(const struct fit *fit, const struct points_wanted *wanted, const char *quantity,
                     const char *per_byte)
{
    enum level level = (enum level)wanted->like.level;
    struct fitted fitted = {.method = "median"};
    struct points points = points_make(fit->samples, fit->options->statistic, wanted);
    fitted.n_samples = points.n_samples;
    bool measured = points.n_points > 0, is_line = per_byte != NULL && grows(&points, fit->options->method);
    struct line_value *const cost = &fitted.line.intercept;
    if (measured && !is_line)
        *cost = middle(&points);
    points_release(&points);
    if (!measured)
        return;
    if (is_line)
        fit_lines_fit_line(fit, wanted, &fitted);
    else
        bootstrap_launches(fit->samples, BENCHMARK_OVERHEAD, estimate_middle, fit->options, wanted, &cost, 1);
    fit_row(fit->machine, level, wanted->protocol, quantity, MACHINE_NO_N, fit_not_negative(*cost), fitted.n_samples,
            fitted.method);
    if (is_line)
        fit_row(fit->machine, level, wanted->protocol, per_byte, MACHINE_NO_N, fit_not_negative(fitted.line.slope),
                fitted.n_samples, fitted.method);
}

void fit_overhead(const struct fit *fit)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct machine_protocols protocols;
        if (machine_protocols(fit->machine, (enum level)level, &protocols, NULL) != 0)
            continue;
        for (size_t i = 0; i < protocols.n; i++) {
            struct points_wanted wanted = {
                .like = {.benchmark = BENCHMARK_OVERHEAD, .variant = VARIANT_SEND, .level = (uint8_t)level, .n = 1},
                .protocols = &protocols,
                .protocol = protocols.protocol[i]};
            fit_post(fit, &wanted, "overhead_send", "overhead_send_byte");
            wanted.like.variant = VARIANT_RECEIVE;
            fit_post(fit, &wanted, "overhead_receive", NULL);
        }
    }
}
