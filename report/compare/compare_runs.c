/* Adds up cells to sites, kinds and ranks, a part for each run, and asks noise.c about each sum. A cell that had few
 * calls in a run says nothing of its variation: it counts only where there are more runs than one of a job. */
#include "report/compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/level.h"
#include "share/base/memory.h"
#include "share/base/order.h"

const char *const comparison_table_name[COMPARISON_TABLES] = {"run", "kind", "site", "site on rank", "rank", "level"};

#define SMALL_SHARE    0.005 /* of all time: too little to be named */
#define SMALL_ON_RANK  0.02  /* of a rank's time */
#define WAITED_MATTERS 2     /* times the share of time that ranks waited for a processor */
#define CHANGE_MATTERS 0.001 /* of all time: below it lies what the recording itself moves */

struct run_sum {
    double span_s[PROFILE_SPANS]; /* undisturbed, of cells with enough calls in every run */
    double few_s;                 /* of the others, all of it */
    double floor_s;
    double total_s, wait_s, calls, bytes;
    bool present;
};

struct sum {
    struct run_sum *runs; /* [n_a + n_b] */
    size_t groups;        /* fewest calls of a cell, at most PROFILE_SPANS; 0: no cell has enough */
};

struct work_entry {
    const struct profile_cell *cell;
    uint32_t number; /* of the site in all runs */
    uint32_t run;
};

struct row_samples {
    struct noise_sample *samples; /* [n_a + n_b] */
    size_t groups;
};

enum { WORK_KINDS = PROFILE_KINDS + 2 }; /* computation before, waiting behind them */

struct comparison_work {
    struct comparison *comparison;
    double all_s; /* rank-seconds of the longest run */
    size_t n_runs, n_ranks;
    uint32_t **numbers;         /* match_sites */
    double *bytes;              /* [numbers * n_runs] */
    struct work_entry *entries; /* by number, rank, run */
    size_t n_entries;
    double floor_call; /* of time in calls, with what waiting for processors makes of it */
    struct sum *site[PROFILE_WAIT], *cell[PROFILE_WAIT]; /* computation before the call, the call */
    struct sum *kinds[WORK_KINDS], **ranks;              /* ranks[n_ranks] */
    struct sum *other;                                   /* of a level, of the run */
    struct row_samples *samples;                         /* [n_samples], as the rows of the comparison */
    size_t n_samples;
};

/* A call site is known by its names: ids and addresses are others in each trace. A changed source moves lines, so that
 * sites that only one side has are matched once more without their line. */
struct named {
    const struct profile_site *site;
    uint32_t *number; /* in the result */
    bool in_b;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Orders by all that is alike in both runs but lines: the call's own, and those of callers into which its function was
 * inlined. Without debugging information the address stands for the line. */
static int compare_names(const struct profile_site *a, const struct profile_site *b)
{
    return strcmp(a->function, b->function) ?: strcmp(base_name(a->file), base_name(b->file))
                                            ?: strcmp(a->symbol, b->symbol)
                                            ?: strcmp(base_name(a->module), base_name(b->module));
}

static int64_t line(const struct profile_site *site)
{
    return site->file[0] != '\0' ? site->line : site->offset;
}

static int compare_places(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    return compare_names(a->site, b->site) ?: ORDER(line(a->site), line(b->site))
                                           ?: strcmp(a->site->callers, b->site->callers);
}

/* Returns the end of the places of names from first on that have one name. */
static size_t end_of_name(const struct named *all, size_t first, size_t n)
{
    while (++first < n && compare_names(all[first - 1].site, all[first].site) == 0)
        ;
    return first;
}

/* Numbers equal places alike, from *next on. */
static void number_places(const struct named *all, size_t n, uint32_t *next)
{
    for (size_t i = 0; i < n; i++) {
        *all[i].number = i > 0 && compare_places(&all[i - 1], &all[i]) == 0 ? *all[i - 1].number : *next;
        *next += *all[i].number == *next;
    }
}

/* Collects the numbers of one side that the other lacks, among places of one name; they ascend with the lines. */
static size_t left_over(const struct named *all, size_t n, bool in_b, uint32_t *numbers)
{
    size_t found = 0;
    for (size_t i = 0, end; i < n; i = end) {
        bool has[2] = {false, false};
        for (end = i; end < n && *all[end].number == *all[i].number; end++)
            has[all[end].in_b] = true;
        if (has[in_b] && !has[!in_b])
            numbers[found++] = *all[i].number;
    }
    return found;
}

/* Gives what only B has of a name the numbers of what only A has, where that is as much. */
static void join_moved(const struct named *all, size_t n, uint32_t *of_a, uint32_t *of_b)
{
    size_t n_a = left_over(all, n, false, of_a), n_b = left_over(all, n, true, of_b);
    if (n_a != n_b)
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_b; k++)
            if (*all[i].number == of_b[k]) {
                *all[i].number = of_a[k];
                break;
            }
}

/* Gives each site of each run a number that means the same in all: function, file, line and symbol agree; what is left
 * agrees in function, file and symbol, in the order of lines, where both sides have as many left. numbers[run][site]
 * stand in one block that the caller frees, as numbers[0] and numbers. *n: how many. */
static uint32_t **match_sites(const struct profile *profiles, size_t n_a, size_t n_b, size_t *n)
{
    size_t n_runs = n_a + n_b, n_sites = 0, filled = 0;
    for (size_t run = 0; run < n_runs; run++)
        n_sites += profiles[run].n_sites;
    uint32_t **numbers = xcalloc(n_runs, sizeof *numbers), *block = xcalloc(3 * n_sites, sizeof *block), next = 0;
    struct named *all = xcalloc(n_sites, sizeof *all);
    for (size_t run = 0; run < n_runs; run++) {
        numbers[run] = block + filled;
        for (size_t i = 0; i < profiles[run].n_sites; i++, filled++)
            all[filled] = (struct named){&profiles[run].sites[i], block + filled, run >= n_a};
    }
    qsort(all, n_sites, sizeof *all, compare_places);
    number_places(all, n_sites, &next);
    for (size_t i = 0, end; i < n_sites; i = end) {
        end = end_of_name(all, i, n_sites);
        join_moved(all + i, end - i, block + n_sites, block + 2 * n_sites);
    }
    free(all);
    *n = next;
    return numbers;
}

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
    return ORDER(a->number, b->number) ?: ORDER(a->cell->rank, b->cell->rank) ?: ORDER(a->run, b->run);
}

/* Matches sites, sorts cells, makes empty sums. */
static void work_begin(struct comparison_work *work)
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
    /* A rank that waits for a processor does so inside calls, too. More runs show what that changes. */
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

static void work_end(struct comparison_work *work)
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

static void sum_clear(const struct comparison_work *work, struct sum *sum)
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

/* Adds the entries of a site on a rank, [n], one a run that has it, to the cell, its site, kind and rank. */
static void sum_add_cells(struct comparison_work *work, const struct work_entry *entries, size_t n)
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

/* Gives the calls of work->site the bytes of the sites of that number. */
static void sum_add_bytes(struct comparison_work *work, uint32_t number)
{
    for (size_t run = 0; run < work->n_runs; run++)
        work->site[PROFILE_CALL]->runs[run].bytes = work->bytes[number * work->n_runs + run];
}

/* Make work->other the sum of a level's messages, or of the run. */
static void sum_of_level(struct comparison_work *work, int level)
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

static void sum_of_run(struct comparison_work *work)
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

static bool sum_is_empty(const struct comparison_work *work, const struct sum *sum)
{
    for (size_t run = 0; run < work->n_runs; run++)
        if (sum->runs[run].present)
            return false;
    return true;
}

/* Returns whether the sum takes too small a part of the run to be named; one_rank: of a rank's time. */
static bool sum_is_small(const struct comparison_work *work, const struct sum *sum, bool one_rank)
{
    double most_s = 0, all_s = one_rank && work->n_ranks > 0 ? work->all_s / (double)work->n_ranks : work->all_s;
    for (size_t run = 0; run < work->n_runs; run++)
        most_s = fmax(most_s, sum->runs[run].total_s);
    return most_s < all_s * (one_rank ? SMALL_ON_RANK : SMALL_SHARE);
}

/* Fills in the state, totals, calls and bytes of a row. */
static void sum_describe(const struct comparison_work *work, const struct sum *sum, struct comparison_row *row)
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

static void sum_samples(const struct comparison_work *work, const struct sum *sum, struct noise_sample *samples)
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

/* Returns the rank-seconds of the longest run. */
static double all_time_s(const struct comparison *comparison)
{
    double longest_s = 0;
    for (size_t i = 0; i < comparison->n_a + comparison->n_b; i++)
        longest_s = fmax(longest_s, comparison->profiles[i].duration_s * comparison->profiles[i].n_ranks);
    return longest_s;
}

/* Adds the row of a sum; its noise is asked for later, when the number of comparisons is known. */
static void add_sum(struct comparison_work *work, struct comparison_row row, const struct sum *sum)
{
    struct comparison *comparison = work->comparison;
    if (sum_is_empty(work, sum))
        return;
    sum_describe(work, sum, &row);
    if (row.state == COMPARISON_TESTED && sum_is_small(work, sum, row.rank >= 0))
        row.state = COMPARISON_SMALL;
    if (row.table == COMPARISON_CELL && row.state != COMPARISON_TESTED)
        return;
    array_grow(&comparison->rows, comparison->n_rows, sizeof row);
    comparison->rows[comparison->n_rows++] = row;
    struct noise_sample *samples = xcalloc(comparison->n_a + comparison->n_b, sizeof *samples);
    array_grow(&work->samples, work->n_samples, sizeof *work->samples);
    sum_samples(work, sum, samples);
    work->samples[work->n_samples++] = (struct row_samples){samples, sum->groups};
}

/* Returns the end of the entries from first on that are of its site, and of its rank where that is asked for. */
static size_t end_of(const struct comparison_work *work, size_t first, bool rank)
{
    const struct work_entry *entries = work->entries;
    size_t end = first + 1;
    while (end < work->n_entries && entries[end].number == entries[first].number &&
           (!rank || entries[end].cell->rank == entries[first].cell->rank))
        end++;
    return end;
}

/* Adds a site, behind the rows of its ranks. */
static void add_site(struct comparison_work *work, size_t first, size_t end)
{
    const struct work_entry *entry = &work->entries[first];
    const struct profile_site *site = &work->comparison->profiles[entry->run].sites[entry->cell->site];
    struct comparison_row row = {.table = COMPARISON_SITE, .rank = -1, .site = site, .name = site->function};
    bool is_end = strcmp(site->function, "end") == 0;
    for (row.part = 0; row.part < PROFILE_WAIT; row.part++)
        sum_clear(work, work->site[row.part]);
    for (size_t i = first, next; i < end; i = next) {
        struct comparison_row cell = row;
        next = end_of(work, i, true);
        for (cell.part = 0; cell.part < PROFILE_WAIT; cell.part++)
            sum_clear(work, work->cell[cell.part]);
        sum_add_cells(work, work->entries + i, next - i);
        cell.table = COMPARISON_CELL;
        cell.rank = work->entries[i].cell->rank;
        for (cell.part = 0; !is_end && cell.part < PROFILE_WAIT; cell.part++)
            add_sum(work, cell, work->cell[cell.part]);
    }
    sum_add_bytes(work, entry->number);
    for (row.part = 0; !is_end && row.part < PROFILE_WAIT; row.part++)
        add_sum(work, row, work->site[row.part]);
}

static void add_sites(struct comparison_work *work)
{
    for (size_t i = 0, end; i < work->n_entries; i = end) {
        end = end_of(work, i, false);
        add_site(work, i, end);
    }
}

static void add_kinds(struct comparison_work *work)
{
    for (size_t kind = 0; kind < WORK_KINDS; kind++) {
        struct comparison_row row = {.table = COMPARISON_KIND, .rank = -1};
        row.name = kind == 0                ? "computation"
                   : kind == WORK_KINDS - 1 ? "waiting for others"
                                            : profile_kind_name[kind - 1];
        row.state = kind == WORK_KINDS - 1 ? COMPARISON_SHOWN : COMPARISON_TESTED;
        add_sum(work, row, work->kinds[kind]);
    }
}

static void add_ranks(struct comparison_work *work)
{
    for (size_t rank = 0; rank < work->n_ranks; rank++)
        add_sum(work, (struct comparison_row){.table = COMPARISON_RANK, .name = "rank", .rank = (int64_t)rank},
                work->ranks[rank]);
}

static void add_levels(struct comparison_work *work)
{
    for (int level = 0; level < PROFILE_LEVELS; level++) {
        struct comparison_row row = {.table = COMPARISON_LEVEL, .rank = -1};
        row.name = level < PROFILE_LEVELS - 1 ? level_text((enum level)level) : "level not known";
        sum_of_level(work, level);
        add_sum(work, row, work->other);
    }
}

static void add_run(struct comparison_work *work)
{
    sum_of_run(work);
    add_sum(work, (struct comparison_row){.table = COMPARISON_RUN, .name = "run", .rank = -1}, work->other);
}

/* Asks for the noise of all rows. Each table has a fifth of 5 %, divided by the number of its comparisons
 * (Bonferroni); sites, and sites on single ranks, are one table. */
static void judge(struct comparison_work *work)
{
    struct comparison *comparison = work->comparison;
    size_t tested[COMPARISON_TABLES] = {0};
    for (size_t i = 0; i < comparison->n_rows; i++)
        tested[comparison->rows[i].table] += comparison->rows[i].state == COMPARISON_TESTED;
    tested[COMPARISON_SITE] = tested[COMPARISON_CELL] += tested[COMPARISON_SITE];
    for (size_t i = 0; i < comparison->n_rows; i++) {
        struct comparison_row *row = &comparison->rows[i];
        size_t n = tested[row->table] > 0 ? tested[row->table] : 1;
        row->result = noise_compare(work->samples[i].samples, comparison->n_a, comparison->n_b, work->samples[i].groups,
                                    0.05 / 5 / (double)n);
        if (row->state == COMPARISON_TESTED && isnan(row->result.noise_s))
            row->state = COMPARISON_FEW_CALLS;
        if (row->state != COMPARISON_TESTED)
            row->result.above = false;
        comparison->n_above += row->result.above;
    }
}

/* Puts what is above noise first, then the largest change. */
static int compare_rows(const void *left, const void *right)
{
    const struct comparison_row *a = left, *b = right;
    double change_a = isnan(a->result.change_s) ? 0 : fabs(a->result.change_s);
    double change_b = isnan(b->result.change_s) ? 0 : fabs(b->result.change_s);
    return ORDER(b->result.above, a->result.above) ?: ORDER(change_b, change_a) ?: ORDER(a->rank, b->rank);
}

/* Drops the rows of single ranks that add nothing to their site: that is above noise itself, or they are not. */
static void drop_cells(struct comparison *comparison)
{
    bool site_above[PROFILE_WAIT] = {false, false};
    for (size_t i = comparison->n_rows; i-- > 0;) { /* a site stands behind its ranks */
        struct comparison_row *row = &comparison->rows[i];
        if (row->table == COMPARISON_SITE)
            site_above[row->part] = row->result.above;
        if (row->table == COMPARISON_CELL && site_above[row->part] && row->result.above) {
            row->result.above = false;
            comparison->n_above--;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].table != COMPARISON_CELL || comparison->rows[i].result.above)
            comparison->rows[kept++] = comparison->rows[i];
    comparison->n_rows = kept;
}

static bool is_of_site(const struct comparison_row *row)
{
    return row->table == COMPARISON_SITE || row->table == COMPARISON_CELL;
}

/* Sorts the rows of sites and ranks; kinds and levels keep their order. */
static void sort_rows(struct comparison *comparison)
{
    for (size_t i = 0, end; i < comparison->n_rows; i = end) {
        bool sites = is_of_site(&comparison->rows[i]);
        for (end = i + 1; end < comparison->n_rows && is_of_site(&comparison->rows[end]) == sites &&
                          (sites || comparison->rows[end].table == comparison->rows[i].table);)
            end++;
        if (sites || comparison->rows[i].table == COMPARISON_RANK)
            qsort(comparison->rows + i, end - i, sizeof *comparison->rows, compare_rows);
    }
}

void comparison_make(struct comparison *comparison, const struct profile *profiles, size_t n_a, size_t n_b,
                     const struct comparison_options *options)
{
    *comparison = (struct comparison){.profiles = profiles, .n_a = n_a, .n_b = n_b, .options = *options};
    struct comparison_work work = {.comparison = comparison, .all_s = all_time_s(comparison)};
    work_begin(&work);
    add_run(&work);
    add_sites(&work);
    add_kinds(&work);
    add_ranks(&work);
    add_levels(&work);
    judge(&work);
    drop_cells(comparison);
    sort_rows(comparison);
    work_end(&work);
}

void comparison_release(struct comparison *comparison)
{
    free(comparison->rows);
    *comparison = (struct comparison){0};
}
