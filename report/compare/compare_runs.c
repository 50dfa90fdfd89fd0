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
#include "share/base/one_of.h"

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

/* The sums of what a row compares. */
struct sum {
    size_t groups;         /* fewest calls of a cell, at most PROFILE_SPANS; 0: no cell has enough */
    struct run_sum runs[]; /* [n_a + n_b] */
};

struct work_entry {
    const struct profile_cell *cell;
    uint32_t number; /* of the site in all runs */
    uint32_t run;
};

enum {
    WORK_WAITING = SPENT_OTHER + 1,
    WORK_KINDS
}; /* behind enum report_activity_kind, without what was not recorded */

/* Which sum is which: of sites, and of them on a rank, first the computation before the call, then the call. */
enum {
    SUM_OF_SITE,
    SUM_OF_CELL = SUM_OF_SITE + PROFILE_WAIT,
    SUM_OTHER = SUM_OF_CELL + PROFILE_WAIT,
    SUM_OF_KIND,
    SUM_OF_RANK = SUM_OF_KIND + WORK_KINDS
};

struct comparison_work {
    struct comparison *comparison;
    double all_s; /* rank-seconds of the longest run */
    size_t n_runs, n_ranks;
    uint32_t **numbers;         /* match_sites */
    double *bytes;              /* [numbers * n_runs] */
    struct work_entry *entries; /* by number, rank, run */
    size_t n_entries;
    double floor_call; /* of time in calls, with what waiting for processors makes of it */
    char *sums;        /* [SUM_OF_RANK + n_ranks], each of sum_bytes; SUM_OTHER is of a level, of the run */
    size_t sum_bytes;
};

/* A call site is known by its names: ids and addresses are others in each trace. A changed source moves lines, so that
 * sites that only one side has are matched once more without their line. */
struct named {
    const struct profile_site *site;
    uint32_t *number; /* in the result */
    size_t run;
};

/* Orders by all that is alike in both runs but lines: the call's own, and those of callers into which its function was
 * inlined. Without debugging information the address stands for the line. */
static int compare_names(const struct profile_site *a, const struct profile_site *b)
{
    return strcmp(a->function, b->function) ?: strcmp(file_name(a->file), file_name(b->file))
                                            ?: strcmp(a->symbol, b->symbol)
                                            ?: strcmp(file_name(a->module), file_name(b->module));
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

/* The first and the last run that have a number. */
struct seen {
    size_t first, last;
};

/* Collects the numbers of one side of first_b that the other lacks, among places of one name; they ascend with the
 * lines. in_order: only those that the run next to first_b has. */
static size_t left_over(const struct named *all, size_t n, const struct seen *seen, size_t first_b, bool in_order,
                        bool in_b, uint32_t *numbers)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t edge = in_b ? seen[*all[i].number].first : seen[*all[i].number].last;
        bool alone = in_order ? edge == first_b - !in_b : in_b ? edge >= first_b : edge < first_b;
        if (alone && all[i].run == edge && (found == 0 || numbers[found - 1] != *all[i].number))
            numbers[found++] = *all[i].number;
    }
    return found;
}

/* Gives what only B has of a name the numbers of what only A has, where that is as much. */
static void join_moved(const struct named *all, size_t n, struct seen *seen, size_t first_b, bool in_order,
                       uint32_t *of_a, uint32_t *of_b)
{
    size_t n_a = left_over(all, n, seen, first_b, in_order, false, of_a);
    size_t n_b = left_over(all, n, seen, first_b, in_order, true, of_b);
    if (n_a != n_b)
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_b; k++)
            if (*all[i].number == of_b[k]) {
                seen[of_a[k]].last = seen[of_b[k]].last;
                *all[i].number = of_a[k];
                break;
            }
}

/* Gives each site of each run a number that means the same in all: function, file, line and symbol agree; what is left
 * agrees in function, file and symbol, in the order of lines, where both sides have as many left. numbers[run][site]
 * stand in one block that the caller frees, as numbers[0] and numbers. *n: how many. */
static uint32_t **match_sites(const struct comparison *comparison, size_t *n)
{
    const struct profile *profiles = comparison->profiles;
    size_t n_runs = comparison->n_a + comparison->n_b, n_sites = 0, filled = 0;
    bool in_order = comparison->options.in_order;
    for (size_t run = 0; run < n_runs; run++)
        n_sites += profiles[run].n_sites;
    uint32_t **numbers = xcalloc(n_runs, sizeof *numbers), *block = xcalloc(3 * n_sites, sizeof *block), next = 0;
    struct named *all = xcalloc(n_sites, sizeof *all);
    struct seen *seen = xcalloc(n_sites, sizeof *seen);
    for (size_t run = 0; run < n_runs; run++) {
        numbers[run] = block + filled;
        for (size_t i = 0; i < profiles[run].n_sites; i++, filled++)
            all[filled] = (struct named){&profiles[run].sites[i], block + filled, run};
    }
    qsort(all, n_sites, sizeof *all, compare_places);
    number_places(all, n_sites, &next);
    for (size_t i = 0; i < next; i++)
        seen[i].first = n_runs;
    for (size_t i = 0; i < n_sites; i++) {
        struct seen *own = &seen[*all[i].number];
        own->first = all[i].run < own->first ? all[i].run : own->first;
        own->last = all[i].run > own->last ? all[i].run : own->last;
    }
    for (size_t i = 0, end; i < n_sites; i = end) {
        end = end_of_name(all, i, n_sites);
        for (size_t b = in_order ? 1 : comparison->n_a; b <= (in_order ? n_runs - 1 : comparison->n_a); b++)
            join_moved(all + i, end - i, seen, b, in_order, block + n_sites, block + 2 * n_sites);
    }
    free(seen);
    free(all);
    *n = next;
    return numbers;
}

static struct sum *sum_at(const struct comparison_work *work, size_t number)
{
    return (struct sum *)(void *)(work->sums + number * work->sum_bytes);
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
        work->all_s = fmax(work->all_s, profile->duration_s * profile->n_ranks);
        work->n_ranks = profile->n_ranks > work->n_ranks ? profile->n_ranks : work->n_ranks;
    }
    /* A rank that waits for a processor does so inside calls, too. More runs show what that changes. */
    work->floor_call = comparison->options.floor_call + (work->n_runs == 2 ? WAITED_MATTERS * waited : 0);
    work->numbers = match_sites(comparison, &n_numbers);
    work->bytes = xcalloc(n_numbers * work->n_runs + 1, sizeof *work->bytes);
    work->entries = xcalloc(n, sizeof *work->entries);
    work->sum_bytes = sizeof(struct sum) + work->n_runs * sizeof(struct run_sum);
    work->sums = xcalloc(SUM_OF_RANK + work->n_ranks, work->sum_bytes);
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
    free(work->sums);
}

static struct sum *sum_cleared(const struct comparison_work *work, size_t number)
{
    return memset(sum_at(work, number), 0, work->sum_bytes);
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
    for (size_t i = 0; i < n; i++) {
        uint64_t calls = entries[i].cell->of_totals ? 1 : entries[i].cell->calls;
        fewest = calls < fewest ? calls : fewest;
    }
    bool few = fewest < PROFILE_FEW_CALLS;
    struct sum *rank = entries->cell->rank < work->n_ranks ? sum_at(work, SUM_OF_RANK + entries->cell->rank) : NULL;
    for (size_t i = 0; i < n; i++) {
        const struct profile_cell *cell = entries[i].cell;
        uint32_t run = entries[i].run;
        enum report_activity_kind kind = work->comparison->profiles[run].sites[cell->site].kind;
        const struct {
            struct sum *sum;
            enum profile_part part;
            uint64_t calls; /* of which groups are made; 0: none */
        } into[] = {{sum_at(work, SUM_OF_SITE), PROFILE_COMPUTATION, fewest},
                    {sum_at(work, SUM_OF_SITE + 1), PROFILE_CALL, fewest},
                    {sum_at(work, SUM_OF_CELL), PROFILE_COMPUTATION, fewest},
                    {sum_at(work, SUM_OF_CELL + 1), PROFILE_CALL, fewest},
                    {sum_at(work, SUM_OF_KIND), PROFILE_COMPUTATION, PROFILE_SPANS},
                    {sum_at(work, SUM_OF_KIND + kind), PROFILE_CALL, PROFILE_SPANS},
                    {sum_at(work, SUM_OF_KIND + WORK_WAITING), PROFILE_WAIT, 0}};
        for (size_t k = 0; k < sizeof into / sizeof into[0]; k++) {
            add_part(work, &into[k].sum->runs[run], cell, few, into[k].part, into[k].part);
            add_groups(into[k].sum, into[k].calls, few || into[k].calls == 0);
        }
        if (rank != NULL)
            add_part(work, &rank->runs[run], cell, few, PROFILE_COMPUTATION, PROFILE_CALL);
    }
    if (rank != NULL)
        add_groups(rank, PROFILE_SPANS, few);
}

/* Return the sum of a level's messages, or of the run, valid until the next call. */
static struct sum *sum_of_level(struct comparison_work *work, int level)
{
    uint64_t fewest = UINT64_MAX;
    struct sum *all = sum_cleared(work, SUM_OTHER);
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct profile_level *messages = &work->comparison->profiles[run].levels[level];
        struct run_sum *sum = &all->runs[run];
        sum->present = messages->messages > 0;
        fewest = sum->present && messages->messages < fewest ? messages->messages : fewest;
        sum->calls = (double)messages->messages;
        sum->bytes = (double)messages->bytes;
        sum->total_s = messages->total_s;
        memcpy(sum->span_s, messages->span_s, sizeof sum->span_s);
        for (size_t i = 0; i < PROFILE_SPANS; i++)
            sum->floor_s += work->floor_call * messages->span_s[i];
    }
    add_groups(all, fewest, fewest < PROFILE_FEW_CALLS);
    return all;
}

static struct sum *sum_of_run(struct comparison_work *work)
{
    const struct comparison *comparison = work->comparison;
    double least_wait = 1, most_wait = 0;
    struct sum *all = sum_cleared(work, SUM_OTHER);
    for (size_t run = 0; run < work->n_runs; run++) {
        least_wait = fmin(least_wait, comparison->profiles[run].processor_wait);
        most_wait = fmax(most_wait, comparison->profiles[run].processor_wait);
    }
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct profile *profile = &comparison->profiles[run];
        struct run_sum *sum = &all->runs[run];
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
    all->groups = PROFILE_SPANS;
    return all;
}

/* Returns whether the sum takes too small a part of the run to be named; one_rank: of a rank's time. */
static bool sum_is_small(const struct comparison_work *work, const struct sum *sum, bool one_rank)
{
    double most_s = 0, all_s = one_rank && work->n_ranks > 0 ? work->all_s / (double)work->n_ranks : work->all_s;
    for (size_t run = 0; run < work->n_runs; run++)
        most_s = fmax(most_s, sum->runs[run].total_s);
    return most_s < all_s * (one_rank ? SMALL_ON_RANK : SMALL_SHARE);
}

/* Fills in the state, totals, calls and bytes of a row. Returns false where no run has the sum. */
static bool sum_describe(const struct comparison_work *work, const struct sum *sum, struct comparison_row *row)
{
    const struct comparison *comparison = work->comparison;
    bool found = false;
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
        found = found || n > 0;
        if (n == 0)
            row->state = side == 0 ? COMPARISON_ONLY_B : COMPARISON_ONLY_A;
        double *values[] = {&row->total_s[side], &row->wait_s[side], &row->calls[side], &row->bytes[side]};
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            *values[i] = n > 0 ? *values[i] / (double)n : NAN;
    }
    return found;
}

static void sum_samples(const struct comparison_work *work, const struct sum *sum, struct noise_sample *samples)
{
    bool few = sum->groups == 0 || work->n_runs > 2;
    for (size_t run = 0; run < work->n_runs; run++) {
        const struct run_sum *part = &sum->runs[run];
        struct noise_sample *sample = &samples[run];
        *sample = (struct noise_sample){
            .present = part->present, .floor_s = part->floor_s, .total_s = part->total_s, .wait_s = part->wait_s};
        sample->floor_s += CHANGE_MATTERS * work->all_s / (double)(work->n_ranks > 0 ? work->n_ranks : 1);
        for (size_t i = 0; i < PROFILE_SPANS; i++)
            sample->span_s[i] = part->span_s[i] + (few ? part->few_s / PROFILE_SPANS : 0);
    }
}

/* Adds the row of a sum; its noise is asked for later, when the number of comparisons is known. */
static void add_sum(struct comparison_work *work, struct comparison_row row, const struct sum *sum)
{
    struct comparison *comparison = work->comparison;
    if (!sum_describe(work, sum, &row))
        return;
    if (row.state == COMPARISON_TESTED && sum_is_small(work, sum, row.rank >= 0))
        row.state = COMPARISON_SMALL;
    if (row.table == COMPARISON_CELL && row.state != COMPARISON_TESTED)
        return;
    row.samples = xcalloc(work->n_runs, sizeof *row.samples);
    row.groups = sum->groups;
    sum_samples(work, sum, row.samples);
    ARRAY_ADD(comparison->rows, comparison->n_rows, row);
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
        sum_cleared(work, SUM_OF_SITE + row.part);
    for (size_t i = first, next; i < end; i = next) {
        struct comparison_row cell = row;
        next = end_of(work, i, true);
        for (cell.part = 0; cell.part < PROFILE_WAIT; cell.part++)
            sum_cleared(work, SUM_OF_CELL + cell.part);
        sum_add_cells(work, work->entries + i, next - i);
        cell.table = COMPARISON_CELL;
        cell.rank = work->entries[i].cell->rank;
        for (cell.part = 0; !is_end && cell.part < PROFILE_WAIT; cell.part++)
            add_sum(work, cell, sum_at(work, SUM_OF_CELL + cell.part));
    }
    for (size_t run = 0; run < work->n_runs; run++)
        sum_at(work, SUM_OF_SITE + PROFILE_CALL)->runs[run].bytes = work->bytes[entry->number * work->n_runs + run];
    for (row.part = 0; !is_end && row.part < PROFILE_WAIT; row.part++)
        add_sum(work, row, sum_at(work, SUM_OF_SITE + row.part));
}

/* Adds all rows, table by table. */
static void add_rows(struct comparison_work *work)
{
    static const char *const kinds[WORK_KINDS] = {"computation", "point-to-point", "collectives",       "one-sided",
                                                  "files",       "other",          "waiting for others"};
    add_sum(work, (struct comparison_row){.table = COMPARISON_RUN, .name = "run", .rank = -1}, sum_of_run(work));
    for (size_t i = 0, end; i < work->n_entries; i = end) {
        end = end_of(work, i, false);
        add_site(work, i, end);
    }
    for (size_t kind = 0; kind < WORK_KINDS; kind++)
        add_sum(work,
                (struct comparison_row){.table = COMPARISON_KIND,
                                        .name = kinds[kind],
                                        .rank = -1,
                                        .state = kind == WORK_WAITING ? COMPARISON_SHOWN : COMPARISON_TESTED},
                sum_at(work, SUM_OF_KIND + kind));
    for (size_t rank = 0; rank < work->n_ranks; rank++)
        add_sum(work, (struct comparison_row){.table = COMPARISON_RANK, .name = "rank", .rank = (int64_t)rank},
                sum_at(work, SUM_OF_RANK + rank));
    for (int level = 0; level < PROFILE_LEVELS; level++)
        add_sum(work,
                (struct comparison_row){.table = COMPARISON_LEVEL,
                                        .name = level < LEVEL_COUNT ? level_text((enum level)level) : "level not known",
                                        .rank = -1},
                sum_of_level(work, level));
}

/* Asks for the noise of all rows. Each table has a fifth of 5 %, divided by the number of its comparisons
 * (Bonferroni); sites, and sites on single ranks, are one table. */
static void judge(struct comparison *comparison)
{
    size_t tested[COMPARISON_TABLES] = {0};
    for (size_t i = 0; i < comparison->n_rows; i++)
        tested[comparison->rows[i].table] += comparison->rows[i].state == COMPARISON_TESTED;
    tested[COMPARISON_SITE] = tested[COMPARISON_CELL] += tested[COMPARISON_SITE];
    for (size_t i = 0; i < comparison->n_rows; i++) {
        struct comparison_row *row = &comparison->rows[i];
        size_t n = tested[row->table] > 0 ? tested[row->table] : 1;
        row->result = noise_compare(row->samples, comparison->n_a, comparison->n_b, row->groups, 0.05 / 5 / (double)n);
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
        else
            free(comparison->rows[i].samples);
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

#define UNEQUAL_WAIT 0.1 /* share of the ranks' time */

static bool same_run(const struct profile *a, const struct profile *b)
{
    return a->started_ns == b->started_ns && strcmp(a->run_key, b->run_key) == 0;
}

/* Returns whether no run before this one had its command. */
static bool is_new_command(const struct comparison *comparison, size_t run)
{
    for (size_t i = 0; i < run; i++)
        if (strcmp(comparison->profiles[i].command, comparison->profiles[run].command) == 0)
            return false;
    return run > 0;
}

#define WARN(...) ARRAY_ADD(comparison->warnings, comparison->n_warnings, xasprintf(__VA_ARGS__))

/* Collects the sentences on why the runs are not alike. */
static void find_warnings(struct comparison *comparison)
{
    const struct profile *first = comparison->profiles;
    for (size_t i = 0; i < comparison->n_a + comparison->n_b; i++) {
        const struct profile *profile = &comparison->profiles[i];
        size_t same = 0;
        while (same < i && !same_run(profile, &comparison->profiles[same]))
            same++;
        if (same < i)
            WARN("%s and %s are the same run: expect no change between them", comparison->profiles[same].path,
                 profile->path);
        if (profile->n_ranks != first->n_ranks && !comparison->options.other_ranks)
            WARN("%s has %u ranks, %s has %u: sums over ranks differ by that alone", first->path, first->n_ranks,
                 profile->path, profile->n_ranks);
        if (strcmp(profile->mpi, first->mpi) != 0)
            WARN("%s is of %.40s, %s of %.40s", first->path, first->mpi, profile->path, profile->mpi);
        if (is_new_command(comparison, i))
            WARN("%s ran: %.200s", profile->path, profile->command);
        if (fabs(profile->processor_wait - first->processor_wait) > UNEQUAL_WAIT)
            WARN("ranks waited for a processor %.0f %% of the time in %s, %.0f %% in %s: others had the machine",
                 profile->processor_wait * 100, profile->path, first->processor_wait * 100, first->path);
        char text[PART_TEXT_BYTES];
        trace_part_text(&profile->part, text);
        if (profile->part.is_part)
            WARN("%s: %s", profile->path, text);
        if (!profile->whole.is_whole)
            WARN("%s is not whole: %.200s", profile->path, profile->whole.reason);
        if (!(profile->duration_s > 0))
            WARN("%s took no time: nothing of it can be compared", profile->path);
    }
}

void comparison_make(struct comparison *comparison, const struct profile *profiles, size_t n_a, size_t n_b,
                     const struct comparison_options *options)
{
    *comparison = (struct comparison){.profiles = profiles, .n_a = n_a, .n_b = n_b, .options = *options};
    struct comparison_work work = {.comparison = comparison};
    work_begin(&work);
    add_rows(&work);
    judge(comparison);
    drop_cells(comparison);
    sort_rows(comparison);
    work_end(&work);
    find_warnings(comparison);
}

void comparison_release(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_warnings; i++)
        free(comparison->warnings[i]);
    for (size_t i = 0; i < comparison->n_rows; i++)
        free(comparison->rows[i].samples);
    free(comparison->warnings);
    free(comparison->rows);
    *comparison = (struct comparison){0};
}
