/* A place of counted_random.h is (iteration, rank, thread, attempt, use), so that times have nothing to do with
 * each other. A time below 0 is drawn again, as is one above ARRIVALS_MOST_S: what is left is the distribution cut at
 * these. */
#include "calibrate/finegrain/arrivals/thread_arrivals.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "calibrate/finegrain/arrivals/arrival_file.h"
#include "calibrate/finegrain/arrivals/arrivals_fixed.h"
#include "calibrate/finegrain/arrivals/counted_random.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"

/* Means and widths lie within the bounds, so that a third of the attempts succeed at least. */
enum { MAX_ATTEMPTS = 64 };

struct arrivals {
    enum arrival_kind kind;
    double compute_s;
    double late_s;            /* laggard: when it is done */
    double sd_s;              /* normal; kde: of the kernel */
    double *samples;          /* kde, in increasing order */
    size_t n_samples;         /* of these */
    struct fixed_times fixed; /* fixed */
};

double silverman_width(const double *samples, size_t n)
{
    if (samples[0] == samples[n - 1])
        return 0;
    double spread = sqrt(variance_of(samples, n));
    double range = sorted_quantile(samples, n, 0.75) - sorted_quantile(samples, n, 0.25);
    if (range > 0)
        spread = fmin(spread, range / 1.34);
    return 0.9 * spread * pow((double)n, -0.2);
}

/* Takes the times of rows as samples, and the width of the kernel. */
static int open_kde(const struct arrivals_request *request, const struct arrival_rows *rows, struct arrivals *arrivals,
                    struct error *error)
{
    if (!(request->width_s >= 0 && request->width_s <= ARRIVALS_MOST_S))
        return error_set(error, "width %g s: expected seconds above 0, at most %g", request->width_s, ARRIVALS_MOST_S);
    if (rows->n < 2)
        return error_set(error, "%s: one time only; expected at least two to estimate a density, or laggard:PERCENT",
                         request->path);
    arrivals->samples = xcalloc(rows->n, sizeof *arrivals->samples);
    for (size_t i = 0; i < rows->n; i++)
        arrivals->samples[i] = rows->rows[i].seconds;
    arrivals->n_samples = rows->n;
    sort_doubles(arrivals->samples, rows->n);
    arrivals->sd_s = request->width_s > 0 ? request->width_s : silverman_width(arrivals->samples, rows->n);
    if (!(arrivals->sd_s > 0))
        return error_set(error, "%s: all times are %g s, a density of them has no width; give one, or fixed:FILE",
                         request->path, arrivals->samples[0]);
    return 0;
}

static int open_file(const struct arrivals_request *request, struct arrivals *arrivals, struct error *error)
{
    struct arrival_rows rows;
    if (arrival_rows_read(request->path, &rows, error) != 0)
        return -1;
    int result = request->kind == ARRIVAL_KDE ? open_kde(request, &rows, arrivals, error)
                                              : fixed_times_make(request->path, &rows, &arrivals->fixed, error);
    arrival_rows_release(&rows);
    return result;
}

int arrivals_open(const struct arrivals_request *request, double compute_s, struct arrivals **arrivals,
                  struct error *error)
{
    if (request->kind == ARRIVAL_TRACE)
        return error_set(error, "%s: a trace is no file of times; expected them as fixed:FILE", request->path);
    if (!(compute_s >= 0 && compute_s <= ARRIVALS_MOST_S))
        return error_set(error, "compute time %g s: expected seconds from 0 to %g", compute_s, ARRIVALS_MOST_S);
    struct arrivals *opened = xcalloc(1, sizeof *opened);
    *opened = (struct arrivals){.kind = request->kind, .compute_s = compute_s, .late_s = compute_s};
    int result = 0;
    if (request->kind == ARRIVAL_LAGGARD) {
        opened->late_s = compute_s * (1 + request->amount / 100);
        if (opened->late_s > ARRIVALS_MOST_S)
            result = error_set(error, "the laggard is done after %g s; expected at most %g", opened->late_s,
                               ARRIVALS_MOST_S);
    }
    if (request->kind == ARRIVAL_NORMAL)
        opened->sd_s = request->amount;
    if (request->path != NULL)
        result = open_file(request, opened, error);
    if (result == 0)
        *arrivals = opened;
    else
        arrivals_close(opened);
    return result;
}

void arrivals_close(struct arrivals *arrivals)
{
    if (arrivals == NULL)
        return;
    fixed_times_release(&arrivals->fixed);
    free(arrivals->samples);
    free(arrivals);
}

int arrivals_check(const struct arrivals *arrivals, uint32_t n_ranks, size_t n_threads, struct error *error)
{
    if (arrivals->kind != ARRIVAL_FIXED)
        return 0;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct fixed_rank *fixed = fixed_times_of(&arrivals->fixed, rank);
        if (fixed == NULL)
            return error_set(error,
                             "fixed arrivals: no times of rank %" PRIu32 "; expected some of ranks 0 to %" PRIu32, rank,
                             n_ranks - 1);
        if (fixed->n_threads != n_threads && arrivals->fixed.named)
            return error_set(error, "fixed arrivals: times of %zu threads of rank %" PRIu32 "; expected %zu",
                             fixed->n_threads, rank, n_threads);
        if (fixed->n_threads != n_threads)
            return error_set(error, "fixed arrivals: %zu times; expected %zu, one a thread", fixed->n_threads,
                             n_threads);
    }
    return 0;
}

/* Draws around mean_s, or a sample where there are some. */
static double draw_spread(const struct arrivals *arrivals, uint64_t seed, uint64_t iteration, uint32_t rank,
                          size_t thread)
{
    for (uint64_t attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const uint64_t of_sample[] = {iteration, rank, thread, attempt, 0};
        const uint64_t of_noise[] = {iteration, rank, thread, attempt, 1};
        double mean_s = arrivals->compute_s;
        if (arrivals->n_samples > 0)
            mean_s = arrivals->samples[counted_below(arrivals->n_samples, seed, of_sample, 5)];
        double time_s = mean_s + arrivals->sd_s * counted_normal(seed, of_noise, 5);
        if (time_s >= 0 && time_s <= ARRIVALS_MOST_S)
            return time_s;
    }
    return 0;
}

int arrivals_draw(const struct arrivals *arrivals, uint64_t seed, uint64_t iteration, uint32_t rank, size_t n_threads,
                  double *seconds)
{
    const uint64_t place[] = {iteration, rank};
    const struct fixed_rank *fixed = NULL;
    size_t laggard = n_threads;
    if (arrivals->kind == ARRIVAL_FIXED) {
        fixed = fixed_times_of(&arrivals->fixed, rank);
        if (fixed == NULL || fixed->n_threads != n_threads)
            return -1;
    } else if (arrivals->kind == ARRIVAL_LAGGARD && n_threads > 0) {
        laggard = counted_below(n_threads, seed, place, 2);
    }
    for (size_t t = 0; t < n_threads; t++) {
        if (fixed != NULL)
            seconds[t] = fixed->seconds[t * fixed->turns + iteration % fixed->turns];
        else if (arrivals->kind == ARRIVAL_LAGGARD)
            seconds[t] = t == laggard ? arrivals->late_s : arrivals->compute_s;
        else
            seconds[t] = draw_spread(arrivals, seed, iteration, rank, t);
    }
    return 0;
}

/* Writes the rows; seconds[n_threads] is room for them. */
static int write_rows(const struct arrivals *arrivals, FILE *stream, uint64_t seed, uint64_t n_iterations,
                      uint32_t n_ranks, size_t n_threads, double *seconds)
{
    fprintf(stream, "rank,thread,seconds\n");
    for (uint64_t iteration = 0; iteration < n_iterations; iteration++)
        for (uint32_t rank = 0; rank < n_ranks; rank++) {
            if (arrivals_draw(arrivals, seed, iteration, rank, n_threads, seconds) != 0)
                return -1;
            for (size_t t = 0; t < n_threads; t++)
                fprintf(stream, "%" PRIu32 ",%zu,%.17g\n", rank, t, seconds[t]);
        }
    return 0;
}

int arrivals_dump(const struct arrivals *arrivals, const char *path, uint64_t seed, uint64_t n_iterations,
                  uint32_t n_ranks, size_t n_threads, struct error *error)
{
    struct output_file file;
    if (arrivals_check(arrivals, n_ranks, n_threads, error) != 0)
        return -1;
    double *seconds = xcalloc(n_threads, sizeof *seconds);
    int result = output_file_open(&file, path, error);
    if (result == 0) {
        if (write_rows(arrivals, file.stream, seed, n_iterations, n_ranks, n_threads, seconds) == 0) {
            result = output_file_commit(&file, error);
        } else {
            output_file_discard(&file);
            result = error_set(error, "%s: no times to write", path);
        }
    }
    free(seconds);
    return result;
}
