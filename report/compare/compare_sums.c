/* Adds cells up. A cell that had few calls in a run says nothing of its variation: it counts only where there are more
 * runs than one of a job. */
#include "report/compare/compare_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/memory.h"

#define SMALL_SHARE    0.005 /* of all time: too little to be named */
#define SMALL_ON_RANK  0.02  /* of a rank's time */
#define WAITED_MATTERS 2     /* times the share of time that ranks waited for a processor */
#define CHANGE_MATTERS 0.001 /* of all time: below it lies what the recording itself moves */

static struct sum *sum_new(size_t n_runs)
{
    struct sum *sum = xmalloc(sizeof *sum);
    *sum = (struct sum){.runs = xcalloc(n_runs, sizeof *sum->runs)};
    return sum;
}

static void sum_free(struct sum *sum)
{
    free(sum->runs);
    free(sum);
}

static int compare_entries(const void *left, const void *right)
{
    const struct work_entry *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->cell->rank != b->cell->rank)
        return a->cell->rank < b->cell->rank ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

void work_begin(struct comparison_work *work)
{
    const struct comparison *comparison = work->comparison;
    size_t n_numbers, n = 0;
    double waited = 0;
    work->n_runs = comparison->n_a + comparison->n_b;
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct profile *profile = &comparison->profiles[run];
        n += profile->n_cells;
        waited = fmax(waited, profile->processor_wait);
        work->n_ranks = profile->n_ranks > work->n_ranks ? profile->n_ranks : work->n_ranks;
    }
    /* A rank that waits for a processor does so inside calls, too. More runs show what that does. */
    work->floor_call = comparison->options.floor_call + (work->n_runs == 2 ? WAITED_MATTERS * waited : 0);
    work->numbers = match_sites(comparison->profiles, comparison->n_a, comparison->n_b, &n_numbers);
    work->bytes = xcalloc(n_numbers * work->n_runs + 1, sizeof *work->bytes);
    work->entries = xcalloc(n, sizeof *work->entries);
    work->ranks = xcalloc(work->n_ranks, sizeof(struct sum *));
    struct sum **const sums[] = {&work->other, &work->site[0], &work->site[1], &work->cell[0], &work->cell[1]};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        *sums[i] = sum_new(work->n_runs);
    for (size_t i = 0; i < WORK_KINDS; i++)
        work->kinds[i] = sum_new(work->n_runs);
    for (size_t i = 0; i < work->n_ranks; i++)
        work->ranks[i] = sum_new(work->n_runs);
    for (uint32_t run = 0; run < work->n_runs; run++) {
        const struct profile *profile = &comparison->profiles[run];
        for (size_t i = 0; i < profile->n_sites; i++)
            work->bytes[work->numbers[run][i] * work->n_runs + run] += (double)profile->sites[i].bytes;
        for (size_t i = 0; i < profile->n_cells; i++)
            work->entries[work->n_entries++] =
                (struct work_entry){&profile->cells[i], work->numbers[run][profile->cells[i].site], run};
    }
    qsort(work->entries, work->n_entries, sizeof *work->entries, compare_entries);
}

void work_end(struct comparison_work *work)
{
    free(work->numbers[0]);
    free(work->numbers);
    free(work->bytes);
    free(work->entries);
    sum_free(work->other);
    for (enum profile_part part = 0; part < PROFILE_WAIT; part++) {
        sum_free(work->site[part]);
        sum_free(work->cell[part]);
    }
    for (size_t i = 0; i < WORK_KINDS; i++)
        sum_free(work->kinds[i]);
    for (size_t i = 0; i < work->n_ranks; i++)
        sum_free(work->ranks[i]);
    free(work->ranks);
    for (size_t i = 0; i < work->n_samples; i++)
        free(work->samples[i].samples);
    free(work->samples);
}

void sum_clear(const struct comparison_work *work, struct sum *sum)
{
    memset(sum->runs, 0, work->n_runs * sizeof *sum->runs);
    sum->groups = 0;
}

/* Adds parts of a cell, first to last, to a run's part of a sum. */
static void add_part(const struct comparison_work *work, struct run_sum *sum, const struct profile_cell *cell, bool few,
                     enum profile_part first, enum profile_part last)
{
    sum->present = true;
    sum->calls += (double)cell->calls;
    sum->wait_s += last > PROFILE_COMPUTATION ? cell->total_s[PROFILE_WAIT] : 0;
    for (enum profile_part part = first; part <= last; part++) {
        double share = part == PROFILE_COMPUTATION ? work->comparison->options.floor : work->floor_call;
        double undisturbed_s = 0;
        sum->total_s += cell->total_s[part];
        for (size_t i = 0; i < PROFILE_SPANS && part < PROFILE_WAIT; i++) {
            undisturbed_s += cell->span_s[part][i];
            sum->span_s[i] += few ? 0 : cell->span_s[part][i];
        }
        sum->few_s += few || part == PROFILE_WAIT ? cell->total_s[part] : 0;
        sum->floor_s += share * undisturbed_s;
    }
}

static void add_groups(struct sum *sum, size_t calls, bool few)
{
    size_t groups = calls < PROFILE_SPANS ? calls : PROFILE_SPANS;
    if (!few && (sum->groups == 0 || groups < sum->groups))
        sum->groups = groups;
}

void sum_add_cells(struct comparison_work *work, const struct work_entry *entries, size_t n)
{
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        fewest = entries[i].cell->calls < fewest ? entries[i].cell->calls : fewest;
    bool few = fewest < PROFILE_FEW_CALLS;
    struct sum *rank = entries->cell->rank < work->n_ranks ? work->ranks[entries->cell->rank] : NULL;
    for (size_t i = 0; i < n; i++) {
        const struct profile_cell *cell = entries[i].cell;
        uint32_t run = entries[i].run;
        enum profile_kind kind = work->comparison->profiles[run].sites[cell->site].kind;
        for (enum profile_part part = 0; part < PROFILE_WAIT; part++) {
            add_part(work, &work->site[part]->runs[run], cell, few, part, part);
            add_part(work, &work->cell[part]->runs[run], cell, few, part, part);
        }
        add_part(work, &work->kinds[0]->runs[run], cell, few, PROFILE_COMPUTATION, PROFILE_COMPUTATION);
        add_part(work, &work->kinds[1 + kind]->runs[run], cell, few, PROFILE_CALL, PROFILE_CALL);
        add_part(work, &work->kinds[WORK_KINDS - 1]->runs[run], cell, few, PROFILE_WAIT, PROFILE_WAIT);
        add_groups(work->kinds[1 + kind], PROFILE_SPANS, few);
        if (rank != NULL)
            add_part(work, &rank->runs[run], cell, few, PROFILE_COMPUTATION, PROFILE_CALL);
    }
    for (enum profile_part part = 0; part < PROFILE_WAIT; part++) {
        add_groups(work->site[part], fewest, few);
        add_groups(work->cell[part], fewest, few);
    }
    add_groups(work->kinds[0], PROFILE_SPANS, few);
    if (rank != NULL)
        add_groups(rank, PROFILE_SPANS, few);
}

void sum_add_bytes(struct comparison_work *work, uint32_t number)
{
    for (size_t run = 0; run < work->n_runs; run++)
        work->site[PROFILE_CALL]->runs[run].bytes = work->bytes[number * work->n_runs + run];
}

void sum_of_level(struct comparison_work *work, int level)
{
    uint64_t fewest = UINT64_MAX;
    sum_clear(work, work->other);
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct profile_level *messages = &work->comparison->profiles[run].levels[level];
        struct run_sum *sum = &work->other->runs[run];
        sum->present = messages->messages > 0;
        fewest = sum->present && messages->messages < fewest ? messages->messages : fewest;
        sum->calls = (double)messages->messages;
        sum->bytes = (double)messages->bytes;
        sum->total_s = messages->total_s;
        memcpy(sum->span_s, messages->span_s, sizeof sum->span_s);
        for (size_t i = 0; i < PROFILE_SPANS; i++)
            sum->floor_s += work->floor_call * messages->span_s[i];
    }
    add_groups(work->other, fewest, fewest < PROFILE_FEW_CALLS);
}

void sum_of_run(struct comparison_work *work)
{
    const struct comparison *comparison = work->comparison;
    double least_wait = 1, most_wait = 0;
    sum_clear(work, work->other);
    for (size_t run = 0; run < work->n_runs; run++) {
        least_wait = fmin(least_wait, comparison->profiles[run].processor_wait);
        most_wait = fmax(most_wait, comparison->profiles[run].processor_wait);
    }
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct profile *profile = &comparison->profiles[run];
        struct run_sum *sum = &work->other->runs[run];
        double all_s = 0;
        for (size_t i = 0; i < PROFILE_SPANS; i++)
            all_s += profile->run_span_s[i];
        sum->present = true;
        sum->total_s = profile->duration_s;
        for (size_t i = 0; i < PROFILE_SPANS; i++)
            sum->span_s[i] = profile->duration_s * (all_s > 0 ? profile->run_span_s[i] / all_s : 1.0 / PROFILE_SPANS);
        /* What others took of the processors is in it: a tenth of that may be different by chance. */
        sum->floor_s = profile->duration_s * (comparison->options.floor + most_wait - least_wait + most_wait / 10);
    }
    work->other->groups = PROFILE_SPANS;
}

bool sum_is_empty(const struct comparison_work *work, const struct sum *sum)
{
    for (size_t run = 0; run < work->n_runs; run++)
        if (sum->runs[run].present)
            return false;
    return true;
}

bool sum_is_small(const struct comparison_work *work, const struct sum *sum, bool one_rank)
{
    double most_s = 0, all_s = one_rank && work->n_ranks > 0 ? work->all_s / (double)work->n_ranks : work->all_s;
    for (size_t run = 0; run < work->n_runs; run++)
        most_s = fmax(most_s, sum->runs[run].total_s);
    return most_s < all_s * (one_rank ? SMALL_ON_RANK : SMALL_SHARE);
}

void sum_describe(const struct comparison_work *work, const struct sum *sum, struct comparison_row *row)
{
    const struct comparison *comparison = work->comparison;
    for (int side = 0; side < 2; side++) {
        size_t first = side == 0 ? 0 : comparison->n_a, end = side == 0 ? comparison->n_a : work->n_runs, n = 0;
        for (size_t run = first; run < end; run++) {
            const struct run_sum *part = &sum->runs[run];
            n += part->present;
            row->total_s[side] += part->total_s;
            row->wait_s[side] += part->wait_s;
            row->calls[side] += part->calls;
            row->bytes[side] += part->bytes;
        }
        if (n == 0)
            row->state = side == 0 ? COMPARISON_ONLY_B : COMPARISON_ONLY_A;
        double *values[] = {&row->total_s[side], &row->wait_s[side], &row->calls[side], &row->bytes[side]};
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            *values[i] = n > 0 ? *values[i] / (double)n : NAN;
    }
}

void sum_samples(const struct comparison_work *work, const struct sum *sum, struct noise_sample *samples)
{
    bool few = sum->groups == 0 || work->n_runs > 2;
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct run_sum *part = &sum->runs[run];
        struct noise_sample *sample = &samples[run];
        *sample = (struct noise_sample){.present = part->present, .floor_s = part->floor_s};
        sample->floor_s += CHANGE_MATTERS * work->all_s / (double)(work->n_ranks > 0 ? work->n_ranks : 1);
        for (size_t i = 0; i < PROFILE_SPANS; i++)
            sample->span_s[i] = part->span_s[i] + (few ? part->few_s / PROFILE_SPANS : 0);
    }
}
