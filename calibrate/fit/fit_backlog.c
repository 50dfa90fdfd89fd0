/* Fits backlog and backlog_pair, the bytes of a stream that stand before a network card ahead of a small message of
 * another pair of ranks, and of the same pair (share/doc/MODELS.md, Whole run).
 *
 * The samples (calibrate/benchmark/backlog.c) are the times of small round trips between two nodes: of nothing else
 * (alone), while another pair streams (other), and of the streaming pair itself (own); and the time of a stream's bytes
 * (stream). With medians
 *
 *     W = bytes / T(stream)    backlog = W (T(other) - T(alone))    backlog_pair = W (T(own) - T(alone))
 *
 * and the interval is that of the difference of both times (difference.h). There is no row where that reaches 0, or the
 * bytes are too few to matter. A stream cannot have more standing than its own bytes: where all of them stood there, so
 * would those of a longer one, and the row is BACKLOG_ALL_BYTES without an interval. */
#include <math.h>

#include "calibrate/fit/difference.h"
#include "calibrate/fit/fits.h"

/* Is about what waits at a card without any queue, a packet or two: it says nothing. */
#define BACKLOG_MIN_BYTES 4096

/* Is the part of a stream from which on all of it stood there, and what the row is then: more than anybody sends. */
#define BACKLOG_ALL       0.95
#define BACKLOG_ALL_BYTES 1e15

/* Is what each case needs: the median of fewer is what disturbed it. */
enum { SAMPLES_MIN = 3 };

/* Holds one case each. */
struct cases {
    struct sample_set alone, other, own, stream;
    bool is_measured; /* there is any sample; raw files of earlier versions have none */
};

static bool is_of(const struct sample *sample, enum variant variant)
{
    return sample->benchmark == BENCHMARK_BACKLOG && sample->level == LEVEL_INTER_NODE && sample->n == 1 &&
           sample->variant == variant;
}

static bool is_same(const struct sample *sample, const struct sample *first)
{
    return samples_compare_points(sample, first) == 0;
}

/* Finds the samples of a case, of the first size that it has: they follow each other. */
static struct sample_set find_set(const struct samples *samples, enum variant variant)
{
    struct sample_set set = {.first = 0};
    while (set.first < samples->n_samples && !is_of(&samples->samples[set.first], variant))
        set.first++;
    while (set.first + set.n < samples->n_samples &&
           is_same(&samples->samples[set.first + set.n], &samples->samples[set.first]))
        set.n++;
    return set;
}

static struct cases find_cases(const struct samples *samples)
{
    struct cases cases = {.alone = find_set(samples, VARIANT_ALONE),
                          .other = find_set(samples, VARIANT_OTHER),
                          .own = find_set(samples, VARIANT_OWN),
                          .stream = find_set(samples, VARIANT_STREAM)};
    cases.is_measured = cases.alone.n + cases.other.n + cases.own.n + cases.stream.n > 0;
    return cases;
}

/* Appends the row of what stands ahead of the round trips behind, if they show any. Returns 0, or -1 without memory. */
static int append(const struct samples *samples, const struct cases *cases, struct sample_set behind,
                  const char *quantity, enum samples_statistic statistic, struct machine *machine, FILE *notes)
{
    struct difference time;
    if (cases->alone.n < SAMPLES_MIN || behind.n < SAMPLES_MIN || cases->stream.n < SAMPLES_MIN) {
        benchmark_note(
            notes,
            "%s %s: %s left out: round trips alone, those behind a stream or a stream were measured less than %d times",
            level_name[LEVEL_INTER_NODE], machine_protocol_name[PROTOCOL_ANY], quantity, SAMPLES_MIN);
        return 0;
    }
    if (difference_find(samples, statistic, cases->alone, behind, &time) != 0)
        return -1;
    const struct sample *stream = &samples->samples[cases->stream.first];
    double bytes = (double)stream->bytes, rate = bytes / benchmark_statistic(stream, cases->stream.n, statistic);
    struct line_value value = {rate * time.value_s, rate * time.low_s, fmin(rate * time.high_s, bytes)};
    if (!isfinite(rate) || !(value.low > 0) || value.value < BACKLOG_MIN_BYTES)
        return 0;
    bool all = value.value >= BACKLOG_ALL * bytes;
    if (all)
        value = (struct line_value){BACKLOG_ALL_BYTES, NAN, NAN};
    return benchmark_append(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, quantity, MACHINE_NO_N, &value, "B",
                            time.n_samples + cases->stream.n, all ? "behind-all" : "behind");
}

int fit_backlog(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
                struct error *error)
{
    struct cases cases = find_cases(samples);
    if (!cases.is_measured)
        return 0;
    if (append(samples, &cases, cases.other, "backlog", options->statistic, machine, notes) != 0 ||
        append(samples, &cases, cases.own, "backlog_pair", options->statistic, machine, notes) != 0)
        return error_set(error, "no memory");
    return 0;
}
