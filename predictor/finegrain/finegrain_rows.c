/* One draw of arrivals says little: the rows are medians over many, and the interval says how far single iterations
 * may be from them. All rows see the same draws. */
#include "predictor/finegrain/finegrain_rows.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/statistics.h"
#include "share/base/memory.h"

/* A speed-up nearer to 0 than this is 0: sums of floating point numbers in another order differ by so much. */
#define NOTHING_PERCENT 1e-9

/* More parts must gain so many percentage points more to be better: what threads and locks cost beside what the table
 * knows is about as much, and grows with the parts. */
#define WORTH_PERCENT 0.5

enum sampled { SAMPLED_BSP, SAMPLED_FINE, SAMPLED_BOUND, SAMPLED_LAST, SAMPLED_SPEEDUP, SAMPLED_COUNT };

/* Holds what is asked for each draw. */
struct finegrain_draws {
    const struct finegrain_options *options;
    struct finegrain_problem *problems; /* [n_rows] */
    double *samples;                    /* [n_rows][SAMPLED_COUNT][draws] */
    double *arrivals_s, *scratch_s;     /* [threads] */
};

static double *samples_of(const struct finegrain_draws *job, size_t row, enum sampled sampled)
{
    return job->samples + (row * SAMPLED_COUNT + sampled) * job->options->draws;
}

static int prepare_problems(struct finegrain_draws *job, const struct machine *machine, struct finegrain_rows *rows,
                            struct error *error)
{
    const struct finegrain_options *options = job->options;
    for (int by = 0; by < FINEGRAIN_INTERFACE_COUNT; by++) {
        for (size_t i = 0; options->interface_asked[by] && i < options->n_parts; i++) {
            struct finegrain_problem *problem = &job->problems[rows->n_rows];
            *problem = (struct finegrain_problem){.peers = options->peers,
                                                  .bytes = options->bytes,
                                                  .threads = options->threads,
                                                  .parts = options->parts[i],
                                                  .arrivals_s = job->arrivals_s};
            if (finegrain_costs(machine, options->level, (enum finegrain_interface)by, options->ppn, problem,
                                &rows->notes, error) != 0)
                return -1;
            rows->rows[rows->n_rows++] =
                (struct finegrain_row){.by = (enum finegrain_interface)by, .parts = options->parts[i]};
        }
    }
    return 0;
}

static int draw(struct finegrain_draws *job, const struct arrivals *arrivals, uint64_t seed, size_t n_rows,
                struct error *error)
{
    const struct finegrain_options *options = job->options;
    for (uint64_t i = 0; i < options->draws; i++) {
        if (arrivals_draw(arrivals, seed, i, 0, options->threads, job->arrivals_s) != 0)
            return error_set(error, "no arrivals of %u threads", options->threads);
        for (size_t row = 0; row < n_rows; row++) {
            struct finegrain_times times;
            finegrain_predict(&job->problems[row], job->scratch_s, &times);
            samples_of(job, row, SAMPLED_BSP)[i] = times.bsp_s;
            samples_of(job, row, SAMPLED_FINE)[i] = times.fine_s;
            samples_of(job, row, SAMPLED_BOUND)[i] = times.bound_s;
            samples_of(job, row, SAMPLED_LAST)[i] = times.last_s;
            samples_of(job, row, SAMPLED_SPEEDUP)[i] = finegrain_speedup_percent(times.bsp_s, times.fine_s);
        }
    }
    return 0;
}

static void summarize(const struct finegrain_draws *job, size_t i, struct finegrain_row *row)
{
    size_t n = job->options->draws;
    double median[SAMPLED_COUNT];
    for (int sampled = 0; sampled < SAMPLED_COUNT; sampled++) {
        double *samples = samples_of(job, i, (enum sampled)sampled);
        sort_doubles(samples, n);
        median[sampled] = sorted_median(samples, n);
    }
    const double *speedups = samples_of(job, i, SAMPLED_SPEEDUP);
    row->bsp_s = median[SAMPLED_BSP];
    row->fine_s = median[SAMPLED_FINE];
    row->speedup_percent = finegrain_speedup_percent(row->bsp_s, row->fine_s);
    row->low_percent = fmin(row->speedup_percent, sorted_quantile(speedups, n, 0.025));
    row->high_percent = fmax(row->speedup_percent, sorted_quantile(speedups, n, 0.975));
    row->bound_percent = finegrain_speedup_percent(row->bsp_s, median[SAMPLED_BOUND]);
    row->limit_percent = finegrain_speedup_percent(row->bsp_s, median[SAMPLED_LAST]);
}

int finegrain_rows_make(const struct machine *machine, const struct finegrain_options *options,
                        const struct arrivals *arrivals, uint64_t seed, struct finegrain_rows *rows,
                        struct error *error)
{
    size_t most_rows = FINEGRAIN_INTERFACE_COUNT * options->n_parts;
    *rows = (struct finegrain_rows){.rows = xcalloc(most_rows, sizeof *rows->rows)};
    struct finegrain_draws job = {.options = options,
                                  .problems = xcalloc(most_rows, sizeof *job.problems),
                                  .samples = xcalloc(most_rows * SAMPLED_COUNT, options->draws * sizeof *job.samples),
                                  .arrivals_s = xcalloc(options->threads, sizeof *job.arrivals_s),
                                  .scratch_s = xcalloc(options->threads, sizeof *job.scratch_s)};
    int result = prepare_problems(&job, machine, rows, error);
    if (result == 0)
        result = draw(&job, arrivals, seed, rows->n_rows, error);
    for (size_t i = 0; result == 0 && i < rows->n_rows; i++)
        summarize(&job, i, &rows->rows[i]);
    free(job.problems);
    free(job.samples);
    free(job.arrivals_s);
    free(job.scratch_s);
    return result;
}

void finegrain_rows_release(struct finegrain_rows *rows)
{
    free(rows->rows);
    *rows = (struct finegrain_rows){0};
}

const struct finegrain_row *finegrain_rows_best(const struct finegrain_rows *rows, enum finegrain_interface by)
{
    double most_percent = -INFINITY;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->rows[i].by == by)
            most_percent = fmax(most_percent, rows->rows[i].speedup_percent);
    double least_percent = most_percent - WORTH_PERCENT;
    if (most_percent > NOTHING_PERCENT)
        least_percent = fmax(least_percent, NOTHING_PERCENT); /* what gains nothing is not the best of what gains */
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->rows[i].by == by && rows->rows[i].speedup_percent >= least_percent)
            return &rows->rows[i];
    return NULL;
}

uint32_t finegrain_rows_loses_from(const struct finegrain_rows *rows, enum finegrain_interface by)
{
    uint32_t from = 0;
    for (size_t i = rows->n_rows; i-- > 0;) {
        if (rows->rows[i].by != by)
            continue;
        if (rows->rows[i].speedup_percent >= -NOTHING_PERCENT)
            break;
        from = rows->rows[i].parts;
    }
    return from;
}
