/* Computes t_i^recv: when each rank of a group has received its bytes. staircase.c has the symbols. */
#include "predictor/models/staircase_steps.h"

#include <stdlib.h>

/* Is a share of a rank's volume: a rank with no more left at the end of a step finishes with it (share/doc/MODELS.md,
 * staircase, levels of a node mixed, rule 3). */
static const double FINISHED = 1e-12;

int bandwidth_steps_init(struct bandwidth_steps *steps, const struct traffic *traffic, size_t n_max)
{
    size_t size = traffic->n_classes * (n_max + 1) + 1;
    *steps = (struct bandwidth_steps){.n_max = n_max,
                                      .n_classes = traffic->n_classes,
                                      .bytes_per_s = malloc(size * sizeof *steps->bytes_per_s),
                                      .outside = calloc(size, sizeof *steps->outside),
                                      .used = calloc(size, sizeof *steps->used)};
    if (steps->bytes_per_s == NULL || steps->outside == NULL || steps->used == NULL) {
        bandwidth_steps_release(steps);
        return -1;
    }
    for (size_t c = 0; c < traffic->n_classes; c++)
        for (size_t n = 1; n <= n_max; n++)
            steps->bytes_per_s[c * (n_max + 1) + n] =
                machine_bandwidth_at(&traffic->classes[c].bandwidth, (double)n, &steps->outside[c * (n_max + 1) + n]);
    return 0;
}

double bandwidth_steps_at(struct bandwidth_steps *steps, size_t class, size_t n)
{
    size_t i = class * (steps->n_max + 1) + n;
    steps->used[i] = true;
    return steps->bytes_per_s[i];
}

size_t bandwidth_steps_extrapolated(const struct bandwidth_steps *steps)
{
    size_t n_extrapolated = 0;
    for (size_t i = 0; i < steps->n_classes * (steps->n_max + 1); i++)
        n_extrapolated += steps->outside[i] && steps->used[i];
    return n_extrapolated;
}

void bandwidth_steps_release(struct bandwidth_steps *steps)
{
    free(steps->bytes_per_s);
    free(steps->outside);
    free(steps->used);
    *steps = (struct bandwidth_steps){0};
}

static int compare_volume(const void *a, const void *b)
{
    const struct competitor *x = a, *y = b;
    if (x->volume < y->volume || x->volume > y->volume)
        return x->volume < y->volume ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void staircase_receive_even(size_t class, struct bandwidth_steps *steps, struct competitor *competitors, size_t n)
{
    qsort(competitors, n, sizeof *competitors, compare_volume);
    double elapsed_s = 0, before = 0; /* V_{i-1} */
    for (size_t i = 0; i < n; i++) {
        /* T7 (T5): t_i = t_{i-1} + (N - i) (V_i - V_{i-1}) / BW_MP(N - i); ties add 0. */
        double left = (double)(n - i);
        if (competitors[i].volume > before)
            elapsed_s += left * (competitors[i].volume - before) / bandwidth_steps_at(steps, class, n - i);
        before = competitors[i].volume;
        competitors[i].rest = 0;
        competitors[i].recv_s = elapsed_s;
    }
}

int staircase_receive_mixed(const struct traffic *traffic, unsigned levels, struct bandwidth_steps *steps,
                            struct competitor *competitors, size_t n)
{
    struct staircase_mix *mixes = malloc((n + 1) * sizeof *mixes);
    double *bytes_per_s = malloc((n + 1) * sizeof *bytes_per_s); /* rate of competitor i in this step */
    struct competitor *finished = malloc((n + 1) * sizeof *finished);
    int result = mixes != NULL && bytes_per_s != NULL && finished != NULL ? 0 : -1;
    size_t n_finished = 0, left = n;
    double elapsed_s = 0;
    for (size_t i = 0; result == 0 && i < n; i++)
        mixes[i] = staircase_mix_of(traffic, levels, competitors[i].rank);
    while (result == 0 && left > 0) {
        /* T13 chooses the unfinished rank q with the least rest over its bandwidth, n = N - k. */
        size_t q = 0;
        double step_s = 0;
        for (size_t i = 0; i < left; i++) {
            bytes_per_s[i] = staircase_mix_bandwidth(&mixes[i], steps, left);
            double needed_s = competitors[i].rest / bytes_per_s[i];
            if (i == 0 || needed_s < step_s) {
                q = i;
                step_s = needed_s;
            }
        }
        elapsed_s += step_s; /* T14 */
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) {
            /* T16 and T17 go together, on and off, as theta_i is fixed. */
            competitors[i].rest -= step_s * bytes_per_s[i];
            if (i == q || competitors[i].rest <= FINISHED * competitors[i].volume) {
                competitors[i].rest = 0;
                competitors[i].recv_s = elapsed_s;
                finished[n_finished++] = competitors[i];
            } else {
                if (kept != i) {
                    competitors[kept] = competitors[i];
                    mixes[kept] = mixes[i];
                }
                kept++;
            }
        }
        left = kept;
    }
    for (size_t i = 0; result == 0 && i < n; i++)
        competitors[i] = finished[i];
    free(mixes);
    free(bytes_per_s);
    free(finished);
    return result;
}
