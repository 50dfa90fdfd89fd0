#include "calibrate/fit/disturbed.h"

#include <string.h>

static bool is_timed(const struct sample *sample)
{
    return sample->benchmark != BENCHMARK_EAGER && sample->benchmark != BENCHMARK_BUFFER;
}

/* Of the n samples of one point; their number afterwards. */
static size_t leave_out(struct sample *samples, size_t n, struct disturbance *disturbance)
{
    size_t n_quiet = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        n_quiet += samples[i].disturbed ? 0 : 1;
    bool repeated = n_quiet >= DISTURBED_REPEATED;
    disturbance->n_points++;
    disturbance->n_samples += n;
    disturbance->n_disturbed += n - n_quiet;
    disturbance->n_unrepeated += n_quiet < n && !repeated ? 1 : 0;
    for (size_t i = 0; i < n; i++)
        if (!samples[i].disturbed || !repeated)
            samples[kept++] = samples[i];
    return kept;
}

void disturbed_leave_out(struct samples *samples)
{
    struct sample *all = samples->samples;
    size_t kept = 0;
    memset(samples->disturbance, 0, sizeof samples->disturbance);
    for (size_t first = 0, end; first < samples->n_samples; first = end) {
        for (end = first; end < samples->n_samples && samples_compare_points(&all[first], &all[end]) == 0;)
            end++;
        size_t n = end - first;
        if (is_timed(&all[first]))
            n = leave_out(&all[first], n, &samples->disturbance[all[first].benchmark]);
        memmove(&all[kept], &all[first], n * sizeof *all);
        kept += n;
    }
    samples->n_samples = kept;
}
