/* A minute on a busy machine has quiet moments: with the samples from there alone a table is as good as one from a
 * quiet machine, as long as every point has some. */
#include "calibrate/samples/disturbed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_timed(const struct sample *sample)
{
    return sample->benchmark != BENCHMARK_EAGER && sample->benchmark != BENCHMARK_BUFFER;
}

static size_t count_disturbed(const struct sample *samples, size_t n)
{
    size_t disturbed = 0;
    for (size_t i = 0; i < n; i++)
        disturbed += samples[i].disturbed ? 1 : 0;
    return disturbed;
}

/* Whether a point has disturbed samples only, and each is known to be so by itself, not by what its second was
 * like. */
static bool never_quiet(const struct sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!samples[i].disturbed || isnan(samples[i].waited))
            return false;
    return true;
}

static void count(struct samples *samples)
{
    memset(samples->disturbance, 0, sizeof samples->disturbance);
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        const struct sample *point = &samples->samples[first];
        end = first + samples_set(samples, first).n;
        if (!is_timed(point))
            continue;
        struct disturbance *own = &samples->disturbance[point->benchmark];
        own->n_points++;
        own->n_never_quiet += never_quiet(point, end - first) ? 1 : 0;
        own->n_samples += end - first;
        own->n_disturbed += count_disturbed(point, end - first);
    }
}

struct disturbance disturbed_sum(const struct samples *samples)
{
    struct disturbance sum = {0};
    for (int i = 0; i < BENCHMARK_COUNT; i++) {
        const struct disturbance *own = &samples->disturbance[i];
        sum.n_samples += own->n_samples;
        sum.n_disturbed += own->n_disturbed;
        sum.n_points += own->n_points;
        sum.n_never_quiet += own->n_never_quiet;
    }
    return sum;
}

bool disturbed_are_taken(void)
{
    const char *given = getenv("MPISTAIR_DISTURBED");
    return given != NULL && strcmp(given, "1") == 0;
}

void disturbed_leave_out(struct samples *samples)
{
    struct sample *all = samples->samples;
    size_t kept = 0;
    count(samples);
    struct disturbance sum = disturbed_sum(samples);
    bool few = !disturbed_are_taken() && (double)sum.n_never_quiet < DISTURBED_MAX * (double)sum.n_points;
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        end = first + samples_set(samples, first).n;
        bool repeated = count_disturbed(&all[first], end - first) < end - first;
        bool none = few && never_quiet(&all[first], end - first);
        for (size_t i = first; i < end; i++)
            if (!is_timed(&all[i]) || !(all[i].disturbed && (repeated || none)))
                all[kept++] = all[i];
    }
    samples->n_samples = kept;
}
