/* Fits what limits messages between nodes: delta, burst, backlog and backlog_pair (share/doc/MODELS.md, Whole run).
 *
 * Contention (B5, T_c = delta * l): what a byte on a shared link costs. In the samples
 * (calibrate/benchmark/contention.c) pairs of nodes send to each other across one link, alone and at the same time:
 * `count` messages of `bytes` from each of n processes, so that l = n * count * bytes crosses the link. A shape
 * (count, bytes) gives one time. Where the link is the limit the time of `shared` is T = tau * count + delta * l, so
 * T / l = delta + tau * (count / l): a line over count / l whose intercept is delta. Dividing by l also weighs every
 * shape alike, as relative least squares does, whether it took 0.2 or 200 ms. Shapes that do not follow the line do
 * not count (bisquare weights): buffers on the way take as much of the smallest shapes at once as the link should
 * carry.
 *
 * A shape says something about the link only if its time grew by the sharing: T(shared) >= 1.25 T(alone). If the link
 * limits k pairs of nodes, they take k times as long, less where one pair alone cannot fill it; if not, they take as
 * long as before. A quarter more is above what medians differ by. What limits some l limits every larger one, so most
 * of the shapes from the median l on must have grown, three at least. Otherwise single ones grew by chance, as on a
 * busy machine, and no shared link is seen. Papers are named as in share/doc/MODELS.md.
 *
 * Burst: the bytes that pass a network card at once after a rest, before its rate falls to that of the wire. Samples
 * (calibrate/benchmark/burst.c) are the times of S bytes between two nodes after a rest, and of S bytes more. A bucket
 * of B bytes that the rest has filled makes the first shorter by what the wire takes for B bytes, so that for each size
 * B = S (1 - T(rested) / T(stream)) of the medians, and the interval is that of the difference of both times. A size
 * tells where that does not reach 0, and B is not too small to matter. Of the sizes that tell, the narrowest interval
 * is the row; but a size of which the bucket takes more than half gives way to a larger one, for it shows its own bytes
 * at most. Times that grow faster than the bytes for another reason look like a bucket, too, but like a larger one the
 * larger S is. So every smaller size s must have seen what a size tells: at the rate of the wire, S / T(stream), it
 * lacks the time of s - rate T(rested) bytes, and these must be most of B or, where the bucket is large, of s. Where
 * sizes disagree or none tells, there is no bucket to be seen, and no row.
 *
 * Backlog: the bytes of a stream that stand before a network card ahead of a small message of another pair of ranks,
 * and of the same pair. The samples (calibrate/benchmark/backlog.c) are the times of small round trips between two
 * nodes: of nothing else (alone), while another pair streams (other), and of the streaming pair itself (own); and the
 * time of a stream's bytes (stream). With medians W = bytes / T(stream), backlog = W (T(other) - T(alone)) and
 * backlog_pair = W (T(own) - T(alone)), with the interval of the difference of both times. There is no row where that
 * reaches 0, or the bytes are too few to matter. A stream cannot have more standing than its own bytes: where all of
 * them stood there, so would those of a longer one, and the row is BACKLOG_ALL_BYTES without an interval. */
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/bootstrap.h"
#include "calibrate/fit/fits.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

/* Growth by sharing from which on a shape counts, and how many such shapes show a link. */
#define SHARING    1.25
#define SHAPES_MIN 3

/* Least burst, B: less than a message of the stream is not seen. */
#define BURST_MIN_BYTES 8192
/* Part of the bucket that a smaller size must have seen, if not OWN of its own bytes. */
#define SEEN_MIN 0.67
/* Part of its bytes above which a size may be too small for the bucket. */
#define OWN 0.5

/* Least backlog, B: a packet or two wait at a card without any queue. */
#define BACKLOG_MIN_BYTES 4096
/* Share of a stream from which on all of it counts as waiting, and the value of the row then, B: more than any program
 * sends. */
#define BACKLOG_ALL       0.95
#define BACKLOG_ALL_BYTES 1e15

/* Sizes of burst, at most, and samples that each case needs: a median of fewer may be a disturbance. */
enum { SIZES_MAX = 16, NETWORK_SAMPLES_MIN = 3 };

/* The samples of one (variant, n, bytes, count). */
struct shape {
    const struct sample *first;
    size_t n_samples;
    double seconds;
};

/* Finds all shapes of contention; returns how many. */
static size_t find_shapes(const struct samples *samples, enum samples_statistic statistic, struct shape *shapes)
{
    size_t n_shapes = 0;
    for (struct sample_set set = {0}; samples_next(samples, BENCHMARK_CONTENTION, LEVEL_INTER_NODE, &set);)
        shapes[n_shapes++] = (struct shape){&samples->samples[set.first], set.n, set_seconds(samples, set, statistic)};
    return n_shapes;
}

/* Returns the time of the slowest pair of nodes with that shape by itself; 0 if it was not measured. */
static double seconds_alone(const struct shape *shapes, size_t n_shapes, const struct sample *shared)
{
    double seconds = 0;
    for (size_t i = 0; i < n_shapes; i++)
        if (shapes[i].first->variant == VARIANT_ALONE && shapes[i].first->bytes == shared->bytes &&
            shapes[i].first->count == shared->count)
            seconds = fmax(seconds, shapes[i].seconds);
    return seconds;
}

/* Fits T / l over count / l of the n shapes: a line with with_tau, else a constant. Returns whether there is one. */
static bool fit_shapes(const double *count_over_l, const double *seconds_over_l, size_t n, bool with_tau,
                       struct line_value *tau, struct line_value *delta)
{
    struct weighted_line line = robust_line_fit(with_tau ? count_over_l : NULL, seconds_over_l, n);
    double half = line_quantile(n - (with_tau ? 2 : 1)), value = line.intercept,
           width = half * sqrt(line.var_intercept);
    *delta = (struct line_value){value, fmax(value - width, 0), value + width};
    width = with_tau ? half * sqrt(line.var_slope) : NAN;
    *tau = (struct line_value){line.slope, line.slope - width, line.slope + width};
    return isfinite(delta->value) && isfinite(delta->high) && isfinite(tau->value);
}

/* Fits delta, with tau where the shapes tell it and it is not negative. */
static bool fit_delta(const double *count_over_l, const double *seconds_over_l, size_t n, struct line_value *tau,
                      struct line_value *delta)
{
    bool differ = false;
    for (size_t i = 1; i < n; i++)
        differ = differ || fabs(count_over_l[i] - count_over_l[0]) > 1e-9 * count_over_l[0];
    bool found = (differ && fit_shapes(count_over_l, seconds_over_l, n, true, tau, delta) && tau->value >= 0) ||
                 fit_shapes(count_over_l, seconds_over_l, n, false, tau, delta);
    return found && delta->value > 0;
}

/* Returns whether most of the shapes from the median l on were slowed; sorts across and slowed_across. */
static bool sees_link(double *across, size_t n, double *slowed_across, size_t n_slowed)
{
    if (n_slowed < SHAPES_MIN)
        return false;
    sort_doubles(across, n);
    sort_doubles(slowed_across, n_slowed);
    double median = across[n / 2];
    size_t large = 0, large_slowed = 0;
    for (size_t i = 0; i < n; i++)
        large += across[i] >= median;
    for (size_t i = 0; i < n_slowed; i++)
        large_slowed += slowed_across[i] >= median;
    return 2 * large_slowed > large;
}

/* What the samples of contention show. */
struct finding {
    size_t compared; /* shapes measured alone and shared */
    size_t slowed;   /* shapes of these that the sharing slowed */
    bool link_seen;
    size_t n_samples;
    bool measured; /* anything was measured at all */
    bool fitted;
    struct line_value tau;
    struct line_value delta;
};

static struct finding find_link(const struct samples *samples, const struct fit_options *options)
{
    size_t n = samples->n_samples;
    struct shape *shapes = xcalloc(n, sizeof *shapes);
    double *values = xcalloc(4 * n, sizeof *values);
    double *count_over_l = values, *seconds_over_l = values + n, *l = values + 2 * n, *slowed_l = values + 3 * n;
    size_t n_shapes = find_shapes(samples, options->statistic, shapes);
    struct finding found = {.measured = n_shapes > 0};
    for (size_t i = 0; i < n_shapes; i++) {
        const struct sample *sample = shapes[i].first;
        double alone_s = seconds_alone(shapes, n_shapes, sample);
        if (sample->variant != VARIANT_SHARED || !(alone_s > 0) || sample->bytes == 0 || sample->count == 0)
            continue;
        double across = (double)sample->n * (double)sample->count * (double)sample->bytes;
        l[found.compared++] = across;
        if (shapes[i].seconds < SHARING * alone_s)
            continue;
        slowed_l[found.slowed] = across;
        count_over_l[found.slowed] = (double)sample->count / across;
        seconds_over_l[found.slowed++] = shapes[i].seconds / across;
        found.n_samples += shapes[i].n_samples;
    }
    found.link_seen = sees_link(l, found.compared, slowed_l, found.slowed);
    found.fitted = found.link_seen && fit_delta(count_over_l, seconds_over_l, found.slowed, &found.tau, &found.delta);
    free(shapes);
    free(values);
    return found;
}

static bool estimate_delta(const struct samples *samples, const struct fit_options *options, const void *context,
                           double *values)
{
    (void)context;
    struct finding found = find_link(samples, options);
    if (found.fitted)
        values[0] = found.delta.value;
    return found.fitted;
}

void fit_contention(const struct fit *fit)
{
    struct finding found = find_link(fit->samples, fit->options);
    struct line_value *const delta = &found.delta;
    if (found.fitted) {
        fit_note(fit->notes,
                 "contention: the pairs slow each other in %zu of %zu counts and sizes: %.3g s a message and %.4g s/B, "
                 "a link of %.4g MB/s",
                 found.slowed, found.compared, found.tau.value, delta->value, 1e-6 / delta->value);
        bootstrap_launches(fit->samples, BENCHMARK_CONTENTION, estimate_delta, fit->options, NULL, &delta, 1);
        fit_row(fit->machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "delta", MACHINE_NO_N, *delta, found.n_samples,
                "robust-shared");
    } else if (found.link_seen) {
        fit_note(fit->notes, "contention: the time does not grow with the bytes on the link; no delta");
    } else if (found.compared > 0) {
        fit_note(fit->notes,
                 "contention: the pairs do not slow each other (in %zu of %zu counts and sizes only): no shared link "
                 "seen",
                 found.slowed, found.compared);
    } else if (found.measured) {
        fit_note(fit->notes, "contention: no count and size was measured both alone and shared");
    }
}

/* Returns the samples of a variant between two processes of two nodes, of the first size that it has from bytes on. */
static struct sample_set find_set(const struct samples *samples, enum benchmark benchmark, enum variant variant,
                                  uint64_t bytes)
{
    struct sample_set set = {0};
    while (samples_next(samples, benchmark, LEVEL_INTER_NODE, &set)) {
        const struct sample *sample = &samples->samples[set.first];
        if (sample->n == 1 && sample->variant == variant && sample->bytes >= bytes)
            break;
    }
    return set;
}

/* Sizes of burst that were measured often enough, ascending. */
struct sizes {
    struct size {
        double bytes;
        struct difference time; /* from rested to stream */
    } sizes[SIZES_MAX];
    size_t n;
};

static void find_sizes(const struct samples *samples, enum samples_statistic statistic, struct sizes *sizes)
{
    sizes->n = 0;
    for (uint64_t bytes = 0; sizes->n < SIZES_MAX; bytes++) {
        struct sample_set rested = find_set(samples, BENCHMARK_BURST, VARIANT_RESTED, bytes);
        if (rested.n == 0)
            return;
        bytes = samples->samples[rested.first].bytes;
        struct sample_set stream = find_set(samples, BENCHMARK_BURST, VARIANT_STREAM, bytes);
        if (rested.n < NETWORK_SAMPLES_MIN || stream.n < NETWORK_SAMPLES_MIN ||
            samples->samples[stream.first].bytes != bytes)
            continue;
        sizes->sizes[sizes->n++] = (struct size){(double)bytes, difference_find(samples, statistic, rested, stream)};
    }
}

/* Returns whether a size has seen a bucket of so many bytes, with the wire as the other one has it. */
static bool has_seen(const struct size *smaller, const struct size *size, double burst_bytes)
{
    double seen_bytes = smaller->bytes - size->bytes / size->time.second_s * smaller->time.first_s;
    return seen_bytes >= SEEN_MIN * burst_bytes || seen_bytes >= OWN * smaller->bytes;
}

/* Finds the bucket that a size shows; returns whether it shows one. */
static bool tells(const struct size *size, struct line_value *burst)
{
    double rate = size->bytes / size->time.second_s;
    *burst = (struct line_value){rate * size->time.value_s, rate * size->time.low_s,
                                 fmin(rate * size->time.high_s, size->bytes)};
    return isfinite(burst->value) && burst->low > 0 && burst->value >= BURST_MIN_BYTES;
}

/* Finds the bucket; returns the number of samples behind it, 0 where there is none to be seen. */
static size_t find_burst(const struct sizes *sizes, struct line_value *burst)
{
    size_t n_samples = 0;
    bool is_full = false; /* the bucket takes much of the size so far */
    for (size_t i = 0; i < sizes->n; i++) {
        const struct size *size = &sizes->sizes[i];
        struct line_value found;
        if (!tells(size, &found))
            continue;
        for (size_t smaller = 0; smaller < i; smaller++)
            if (!has_seen(&sizes->sizes[smaller], size, found.value))
                return 0;
        if (n_samples > 0 && !is_full && found.high - found.low >= burst->high - burst->low)
            continue;
        *burst = found;
        is_full = found.value > OWN * size->bytes;
        n_samples = size->time.n_samples;
    }
    return n_samples;
}

void fit_burst(const struct fit *fit)
{
    struct sizes sizes;
    struct line_value burst;
    bool is_measured = false;
    for (size_t i = 0; i < fit->samples->n_samples && !is_measured; i++)
        is_measured = fit->samples->samples[i].benchmark == BENCHMARK_BURST;
    find_sizes(fit->samples, fit->options->statistic, &sizes);
    size_t n_samples = find_burst(&sizes, &burst);
    if (is_measured && sizes.n == 0)
        fit_note(fit->notes, "%s %s: burst left out: no size was measured %d times both after a rest and beyond",
                 level_name[LEVEL_INTER_NODE], machine_protocol_name[PROTOCOL_ANY], NETWORK_SAMPLES_MIN);
    if (n_samples > 0)
        fit_row(fit->machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "burst", MACHINE_NO_N, burst, n_samples, "rest");
}

/* Appends the row of what stands ahead of the round trips behind, if they show any. */
static void append_backlog(const struct fit *fit, struct sample_set alone, struct sample_set behind,
                           struct sample_set stream, const char *quantity)
{
    if (alone.n < NETWORK_SAMPLES_MIN || behind.n < NETWORK_SAMPLES_MIN || stream.n < NETWORK_SAMPLES_MIN) {
        fit_note(fit->notes,
                 "%s %s: %s left out: round trips alone, those behind a stream or a stream were measured less than %d "
                 "times",
                 level_name[LEVEL_INTER_NODE], machine_protocol_name[PROTOCOL_ANY], quantity, NETWORK_SAMPLES_MIN);
        return;
    }
    enum samples_statistic statistic = fit->options->statistic;
    struct difference time = difference_find(fit->samples, statistic, alone, behind);
    double bytes = (double)fit->samples->samples[stream.first].bytes;
    double rate = bytes / set_seconds(fit->samples, stream, statistic);
    struct line_value value = {rate * time.value_s, rate * time.low_s, fmin(rate * time.high_s, bytes)};
    if (!isfinite(rate) || !(value.low > 0) || value.value < BACKLOG_MIN_BYTES)
        return;
    bool all = value.value >= BACKLOG_ALL * bytes;
    if (all)
        value = (struct line_value){BACKLOG_ALL_BYTES, NAN, NAN};
    fit_row(fit->machine, LEVEL_INTER_NODE, PROTOCOL_ANY, quantity, MACHINE_NO_N, value, time.n_samples + stream.n,
            all ? "behind-all" : "behind");
}

void fit_backlog(const struct fit *fit)
{
    struct sample_set alone = find_set(fit->samples, BENCHMARK_BACKLOG, VARIANT_ALONE, 0),
                      other = find_set(fit->samples, BENCHMARK_BACKLOG, VARIANT_OTHER, 0),
                      own = find_set(fit->samples, BENCHMARK_BACKLOG, VARIANT_OWN, 0),
                      stream = find_set(fit->samples, BENCHMARK_BACKLOG, VARIANT_STREAM, 0);
    if (alone.n + other.n + own.n + stream.n == 0)
        return;
    append_backlog(fit, alone, other, stream, "backlog");
    append_backlog(fit, alone, own, stream, "backlog_pair");
}
