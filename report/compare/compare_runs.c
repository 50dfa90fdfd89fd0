/* Adds up cells to sites, kinds and ranks, and asks noise.c about each sum. */
#include "report/compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/compare_sums.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/level.h"

const char *const comparison_table_name[COMPARISON_TABLES] = {"run", "kind", "site", "site on rank", "rank", "level"};

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
    if (a->result.above != b->result.above)
        return a->result.above ? -1 : 1;
    double change_a = isnan(a->result.change_s) ? 0 : fabs(a->result.change_s);
    double change_b = isnan(b->result.change_s) ? 0 : fabs(b->result.change_s);
    if (change_a < change_b || change_a > change_b)
        return change_a > change_b ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Drops the rows of single ranks that say nothing beyond their site: that is above noise itself, or they are not. */
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
