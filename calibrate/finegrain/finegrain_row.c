/* The iterations of both ways come in pairs that saw the same arrivals. Times are medians with order statistics as
 * bounds. The speed-up, 100 (BSP - fine) / BSP of the medians, has no such bounds: pairs are drawn again, with
 * replacement, and the interval holds 95 % of the speed-ups of those. */
#include "calibrate/finegrain/finegrain_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/plan.h"
#include "share/base/statistics.h"
#include "share/base/random.h"

enum { REPLICATES_MOST = 1000, REPLICATES_LEAST = 100, DRAWS_MOST = 20000000, PAIRS_LEAST = 6 };

void finegrain_samples_release(struct finegrain_samples *samples)
{
    free(samples->samples);
    *samples = (struct finegrain_samples){0};
}

/* Holds values by number of the pair, and room to sort them. */
struct pairs {
    double *bsp, *fine;                           /* [n] */
    double *oversleep, *median_oversleep, *delay; /* [2n] in the order of the samples */
    double *sorted;                               /* [2n] */
    size_t n;
};

static void pairs_release(struct pairs *pairs)
{
    free(pairs->bsp);
    free(pairs->fine);
    free(pairs->oversleep);
    free(pairs->median_oversleep);
    free(pairs->delay);
    free(pairs->sorted);
}

static int pairs_make(const struct finegrain_config *config, const struct finegrain_samples *samples,
                      struct pairs *pairs, struct error *error)
{
    size_t n = config->trials * config->iterations;
    *pairs = (struct pairs){.n = n,
                            .bsp = calloc(n, sizeof(double)),
                            .fine = calloc(n, sizeof(double)),
                            .oversleep = calloc(2 * n, sizeof(double)),
                            .median_oversleep = calloc(2 * n, sizeof(double)),
                            .delay = calloc(2 * n, sizeof(double)),
                            .sorted = calloc(2 * n, sizeof(double))};
    if (pairs->bsp == NULL || pairs->fine == NULL || pairs->oversleep == NULL || pairs->median_oversleep == NULL ||
        pairs->delay == NULL || pairs->sorted == NULL)
        return error_set(error, "no memory for %zu pairs of iterations", n);
    for (size_t i = 0; i < samples->n; i++) {
        const struct finegrain_sample *sample = &samples->samples[i];
        uint64_t number = (sample->trial - 1) * config->iterations + sample->iteration - 1;
        double *way = sample->is_fine ? pairs->fine : pairs->bsp;
        if (i >= 2 * n || sample->trial - 1 >= config->trials || sample->iteration - 1 >= config->iterations ||
            way[number] > 0 || !(sample->seconds > 0))
            return error_set(error, "trial %llu, iteration %llu of the benchmark: expected once, with seconds above 0",
                             (unsigned long long)sample->trial, (unsigned long long)sample->iteration);
        way[number] = sample->seconds;
        pairs->oversleep[i] = sample->oversleep_s;
        pairs->median_oversleep[i] = sample->median_oversleep_s;
        pairs->delay[i] = sample->delay_s;
    }
    if (samples->n != 2 * n)
        return error_set(error, "%zu of %zu iterations have come: the program under the launcher ended early",
                         samples->n, 2 * n);
    return 0;
}

static struct finegrain_bounded bounded_median(const double *values, size_t n, double *sorted)
{
    struct finegrain_bounded bounded = {.low = NAN, .high = NAN};
    memcpy(sorted, values, n * sizeof *sorted);
    sort_doubles(sorted, n);
    bounded.value = sorted_median(sorted, n);
    if (!sorted_median_interval(sorted, n, &bounded.low, &bounded.high))
        bounded.low = bounded.high = NAN;
    return bounded;
}

static double speedup(double bsp_s, double fine_s)
{
    return 100 * (bsp_s - fine_s) / bsp_s;
}

/* Bounds the speed-up by drawing pairs again. Returns 0, or -1 without memory. */
static int bound_speedup(const struct pairs *pairs, uint64_t seed, struct finegrain_bounded *bounded)
{
    size_t n = pairs->n, n_replicates = DRAWS_MOST / n;
    n_replicates = n_replicates > REPLICATES_MOST    ? REPLICATES_MOST
                   : n_replicates < REPLICATES_LEAST ? REPLICATES_LEAST
                                                     : n_replicates;
    bounded->low = bounded->high = NAN;
    if (n < PAIRS_LEAST)
        return 0;
    struct twister random;
    double *replicates = calloc(n_replicates, sizeof *replicates);
    double *bsp = pairs->sorted, *fine = pairs->sorted + n;
    if (replicates != NULL) {
        twister_seed(&random, seed);
        for (size_t i = 0; i < n_replicates; i++) {
            for (size_t j = 0; j < n; j++) {
                size_t drawn = twister_below(&random, n);
                bsp[j] = pairs->bsp[drawn];
                fine[j] = pairs->fine[drawn];
            }
            replicates[i] = speedup(unsorted_median(bsp, n), unsorted_median(fine, n));
        }
        sort_doubles(replicates, n_replicates);
        bounded->low = sorted_quantile(replicates, n_replicates, 0.025);
        bounded->high = sorted_quantile(replicates, n_replicates, 0.975);
    }
    int result = replicates != NULL ? 0 : -1;
    free(replicates);
    return result;
}

/* Judges the oversleep. */
static void judge(const struct pairs *pairs, struct finegrain_row *row)
{
    double delay_s = bounded_median(pairs->delay, 2 * pairs->n, pairs->sorted).value;
    row->oversleep_s = bounded_median(pairs->oversleep, 2 * pairs->n, pairs->sorted).value;
    row->median_oversleep_s = bounded_median(pairs->median_oversleep, 2 * pairs->n, pairs->sorted).value;
    if (delay_s > 0 && row->oversleep_s > FINEGRAIN_OVERSLEEP_MOST * delay_s)
        snprintf(row->void_reason, sizeof row->void_reason,
                 "the last arrival overslept %.3g us: more than a tenth of its delay of %.4g us",
                 1e6 * row->oversleep_s, 1e6 * delay_s);
}

int finegrain_row_make(const struct finegrain_config *config, const char *mpi, const struct finegrain_samples *samples,
                       struct finegrain_row *row, struct error *error)
{
    struct pairs pairs;
    *row = (struct finegrain_row){
        .config = config, .mpi = mpi, .ranks = samples->ranks, .buffers_per_rank = samples->buffers_per_rank};
    int result = pairs_make(config, samples, &pairs, error);
    if (result == 0) {
        row->bsp_s = bounded_median(pairs.bsp, pairs.n, pairs.sorted);
        row->fine_s = bounded_median(pairs.fine, pairs.n, pairs.sorted);
        row->speedup_percent.value = speedup(row->bsp_s.value, row->fine_s.value);
        judge(&pairs, row);
        if (bound_speedup(&pairs, config->seed, &row->speedup_percent) != 0)
            result = error_set(error, "no memory for the interval of the speed-up");
    }
    pairs_release(&pairs);
    return result;
}
