/* Fits burst, the bytes that pass a network card at once after a rest, before its rate falls to that of the wire
 * (share/doc/MODELS.md, Whole run).
 *
 * The samples (calibrate/benchmark/burst.c) are the times of S bytes between two nodes after a rest, and of S bytes
 * more. A bucket of B bytes that the rest has filled makes the first shorter by what the wire takes for B bytes, so
 * that for each size
 *
 *     B = S (1 - T(rested) / T(stream))
 *
 * of the medians, and the interval is that of the difference of both times (difference.h). A size tells where that
 * does not reach 0, and B is not too small to matter. Of the sizes that tell, the narrowest interval is the row; but
 * a size of which the bucket takes more than half gives way to a larger one, for it shows its own bytes at most.
 *
 * Times that grow faster than the bytes for another reason look like a bucket, too, but like a larger one the larger
 * S is. So every smaller size s must have seen what a size tells: at the rate of the wire, S / T(stream), it lacks
 * the time of s - rate T(rested) bytes, and these must be most of B or, where the bucket is large, of s. Where sizes
 * disagree or none tells, there is no bucket to be seen, and no row. */
#include <math.h>

#include "calibrate/fit/difference.h"
#include "calibrate/fit/fits.h"

/* Is less than a message of the stream: it says nothing. */
#define BURST_MIN_BYTES 8192
/* Is the part of the bucket that a smaller size must have seen, if not OWN of its own bytes. */
#define SEEN_MIN 0.67
/* Is the part of its bytes above which a size may be too small for the bucket. */
#define OWN 0.5

/* Limit the sizes that are looked at, and the samples that each needs in both cases: the median of fewer is what
 * disturbed it. */
enum { SIZES_MAX = 16, SAMPLES_MIN = 3 };

struct size {
    double bytes;
    struct difference time; /* from rested to stream */
};

/* Holds all that was measured often enough, by ascending size. */
struct sizes {
    struct size sizes[SIZES_MAX];
    size_t n;
    bool is_measured; /* there is any sample; raw files of earlier versions have none */
};

static bool is_of(const struct sample *sample, enum variant variant, uint64_t bytes)
{
    return sample->benchmark == BENCHMARK_BURST && sample->level == LEVEL_INTER_NODE && sample->n == 1 &&
           sample->variant == variant && sample->bytes == bytes;
}

/* Finds the samples of that case and size, which follow each other; there are none before first. */
static struct sample_set find_set(const struct samples *samples, size_t first, enum variant variant, uint64_t bytes)
{
    struct sample_set set = {.first = first};
    while (set.first < samples->n_samples && !is_of(&samples->samples[set.first], variant, bytes))
        set.first++;
    while (set.first + set.n < samples->n_samples && is_of(&samples->samples[set.first + set.n], variant, bytes))
        set.n++;
    return set;
}

/* Returns 0, or -1 without memory. */
static int find_sizes(const struct samples *samples, enum samples_statistic statistic, struct sizes *sizes)
{
    *sizes = (struct sizes){.n = 0};
    for (size_t i = 0, end; i < samples->n_samples && sizes->n < SIZES_MAX; i = end) {
        const struct sample *sample = &samples->samples[i];
        end = i + 1;
        sizes->is_measured = sizes->is_measured || sample->benchmark == BENCHMARK_BURST;
        if (!is_of(sample, VARIANT_RESTED, sample->bytes))
            continue;
        struct sample_set rested = find_set(samples, i, VARIANT_RESTED, sample->bytes);
        struct sample_set stream = find_set(samples, i, VARIANT_STREAM, sample->bytes);
        end = i + rested.n;
        if (rested.n < SAMPLES_MIN || stream.n < SAMPLES_MIN)
            continue;
        struct size *size = &sizes->sizes[sizes->n++];
        size->bytes = (double)sample->bytes;
        if (difference_find(samples, statistic, rested, stream, &size->time) != 0)
            return -1;
    }
    return 0;
}

/* Says whether that size has seen a bucket of so many bytes, with the wire as the other one has it. */
static bool has_seen(const struct size *smaller, const struct size *size, double burst_bytes)
{
    double seen_bytes = smaller->bytes - size->bytes / size->time.second_s * smaller->time.first_s;
    return seen_bytes >= SEEN_MIN * burst_bytes || seen_bytes >= OWN * smaller->bytes;
}

/* Finds what a size says of the bucket; returns whether it tells. */
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

int fit_burst(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
              struct error *error)
{
    struct sizes sizes;
    struct line_value burst;
    if (find_sizes(samples, options->statistic, &sizes) != 0)
        return error_set(error, "no memory");
    size_t n_samples = find_burst(&sizes, &burst);
    if (sizes.is_measured && sizes.n == 0)
        benchmark_note(notes, "%s %s: burst left out: no size was measured %d times both after a rest and beyond",
                       level_name[LEVEL_INTER_NODE], machine_protocol_name[PROTOCOL_ANY], SAMPLES_MIN);
    if (n_samples > 0 && benchmark_append(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "burst", MACHINE_NO_N, &burst, "B",
                                          n_samples, "rest") != 0)
        return error_set(error, "no memory");
    return 0;
}
