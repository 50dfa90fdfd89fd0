/* Goes through the rounds of the trace once: the model takes each rank's round by itself, and sums are kept by kind and
 * number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/collect/fine_shape.h"
#include "report/collect/report.h"
#include "report/collect/section_machine.h"
#include "share/base/array.h"

/* Holds the sums of a kind and number of threads. */
struct sums {
    struct report_fine_kind row;
    double last_s;
    double whole_s[FINE_BY_COUNT][REPORT_FINE_PARTS], fine_s[FINE_BY_COUNT][REPORT_FINE_PARTS];
    size_t next; /* place + 1 of those of the kind with other threads; 0: none */
};

struct collecting {
    struct report *report;
    struct fine_shapes shapes;
    int64_t *kinds; /* [n_kinds] in order */
    size_t *first;  /* [n_kinds] place + 1 of its first sums; 0: none */
    size_t n_kinds, kinds_capacity;
    struct sums *sums;
    size_t n_sums, sums_capacity;
    double *arrivals_s, *scratch_s;
    size_t capacity; /* of both */
};

static int read_kinds(struct collecting *collecting, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, collecting->report->path, "SELECT id FROM kind ORDER BY id", error);
    while (cursor_next(&rows)) {
        if (array_reserve(&collecting->kinds, &collecting->kinds_capacity, collecting->n_kinds + 1,
                          sizeof *collecting->kinds) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        collecting->kinds[collecting->n_kinds++] = cursor_integer(&rows, 0);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    collecting->first = calloc(collecting->n_kinds + 1, sizeof *collecting->first);
    return collecting->first != NULL ? 0 : error_set(error, "%s: no memory", collecting->report->path);
}

static int compare_kinds(const void *first, const void *second)
{
    int64_t a = *(const int64_t *)first, b = *(const int64_t *)second;
    return (a > b) - (a < b);
}

/* Returns the sums of a round's kind and number of threads, new ones if there are none; NULL without memory, or where
 * the trace lacks the kind. */
static struct sums *sums_of(struct collecting *collecting, const struct round_arrivals *round)
{
    int64_t threads = (int64_t)round->n_threads;
    const int64_t *kind = NULL;
    if (collecting->n_kinds > 0)
        kind = bsearch(&round->kind, collecting->kinds, collecting->n_kinds, sizeof *kind, compare_kinds);
    if (kind == NULL)
        return NULL;
    size_t *first = &collecting->first[kind - collecting->kinds];
    for (size_t at = *first; at != 0; at = collecting->sums[at - 1].next)
        if (collecting->sums[at - 1].row.threads == threads)
            return &collecting->sums[at - 1];
    if (array_reserve(&collecting->sums, &collecting->sums_capacity, collecting->n_sums + 1,
                      sizeof *collecting->sums) != 0)
        return NULL;
    struct sums *added = &collecting->sums[collecting->n_sums++];
    *added = (struct sums){.row = {.kind = *kind, .threads = threads}, .next = *first};
    *first = collecting->n_sums;
    return added;
}

/* Sets arrivals_s[n]. One thread has all parts ready at once, as so many threads would that are done at one time. */
static int set_arrivals(struct collecting *collecting, const struct round_arrivals *round, size_t n,
                        struct error *error)
{
    size_t capacity = collecting->capacity;
    if (array_reserve(&collecting->arrivals_s, &capacity, n, sizeof *collecting->arrivals_s) != 0 ||
        array_reserve(&collecting->scratch_s, &collecting->capacity, n, sizeof *collecting->scratch_s) != 0)
        return error_set(error, "%s: no memory for %zu threads", collecting->report->path, n);
    for (size_t t = 0; t < n; t++)
        collecting->arrivals_s[t] = round->seconds[round->n_threads == 1 ? 0 : t];
    return 0;
}

/* Adds the model's times of a round by an interface with so many parts. */
static void add_parts(struct collecting *collecting, struct sums *sums, size_t by, size_t k,
                      struct finegrain_problem problem)
{
    struct finegrain_times times;
    if (problem.threads % problem.parts != 0 || problem.bytes < problem.parts)
        return;
    finegrain_predict(&problem, collecting->scratch_s, &times);
    sums->whole_s[by][k] += times.bsp_s;
    sums->fine_s[by][k] += times.fine_s;
    if (by != FINE_BY_P2P)
        return;
    sums->whole_s[FINE_BY_BOUND][k] += times.bsp_s;
    sums->fine_s[FINE_BY_BOUND][k] += times.bound_s;
}

static int add_round(void *context, const struct round_arrivals *round, struct error *error)
{
    struct collecting *collecting = context;
    size_t n = round->n_threads == 1 ? report_parts[REPORT_FINE_PARTS - 1] : round->n_threads;
    if (round->level == LEVEL_COUNT || round->level == LEVEL_SELF || round->bytes == 0 || n > UINT32_MAX) {
        collecting->report->fine_grained.left_out++;
        return 0;
    }
    const struct fine_shape *shape = fine_shape_of(&collecting->shapes, round, error);
    if (shape == NULL || set_arrivals(collecting, round, n, error) != 0)
        return -1;
    struct sums *sums = sums_of(collecting, round);
    if (sums == NULL)
        return error_set(error, "%s: no room for the kinds of rounds", collecting->report->path);
    struct finegrain_problem whole = shape->whole;
    struct finegrain_times times;
    double first_s = INFINITY;
    for (size_t t = 0; t < n; t++)
        first_s = fmin(first_s, collecting->arrivals_s[t]);
    whole.threads = (uint32_t)n;
    whole.arrivals_s = collecting->arrivals_s;
    finegrain_predict(&whole, collecting->scratch_s, &times);
    sums->row.times++;
    sums->row.peers += round->peers;
    sums->row.bytes += (double)shape->bytes;
    sums->row.late_s += times.last_s - first_s;
    sums->row.whole_s += times.bsp_s;
    sums->last_s += times.last_s;
    for (size_t by = 0; by < FINE_INTERFACES; by++)
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++) {
            struct finegrain_problem problem = shape->parts[by][k];
            problem.threads = (uint32_t)n;
            problem.arrivals_s = collecting->arrivals_s;
            add_parts(collecting, sums, by, k, problem);
        }
    return 0;
}

/* Turns sums into means and shares. */
static void finish_row(const struct finegrain_notes *notes, struct sums *sums)
{
    struct report_fine_kind *row = &sums->row;
    row->peers /= (double)row->times;
    row->bytes /= (double)row->times;
    row->late_s /= (double)row->times;
    row->limit = row->whole_s > 0 ? (row->whole_s - sums->last_s) / row->whole_s : NAN;
    for (size_t by = 0; by < FINE_BY_COUNT; by++)
        for (size_t k = 0; k < REPORT_FINE_PARTS; k++) {
            /* The bound leaves out what parts cost, and so is no bound of one thread, which gains nothing. */
            bool known =
                by == FINE_BY_BOUND ? row->threads > 1 : by == FINE_BY_P2P || !notes->tau_missing[fine_interfaces[by]];
            double whole_s = sums->whole_s[by][k];
            row->saved[by][k] = known && whole_s > 0 ? (whole_s - sums->fine_s[by][k]) / whole_s : NAN;
        }
}

static int compare_sums(const void *first, const void *second)
{
    const struct report_fine_kind *a = &((const struct sums *)first)->row, *b = &((const struct sums *)second)->row;
    if (a->whole_s != b->whole_s)
        return a->whole_s > b->whole_s ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->threads > b->threads) - (a->threads < b->threads);
}

static void finish(struct collecting *collecting)
{
    struct report_fine_grained *fine = &collecting->report->fine_grained;
    if (collecting->n_sums > 0)
        qsort(collecting->sums, collecting->n_sums, sizeof *collecting->sums, compare_sums);
    for (size_t i = 0; i < collecting->n_sums; i++) {
        finish_row(&collecting->shapes.notes, &collecting->sums[i]);
        if (i < REPORT_FINE_KINDS)
            fine->rows[fine->n++] = collecting->sums[i].row;
        fine->one_thread = fine->one_thread || collecting->sums[i].row.threads == 1;
    }
    fine->all = collecting->n_sums;
    fine->tau_missing = collecting->shapes.notes.tau_missing[FINEGRAIN_P2P];
}

/* Keeps why nothing is known. Returns 0, or -1 without memory. */
static int keep_reason(struct report *report, const struct error *reason, struct error *error)
{
    report->fine_grained.unknown = pool_clean(&report->pool, reason->text, strlen(reason->text));
    return report->fine_grained.unknown != NULL ? 0 : error_set(error, "%s: no memory", report->path);
}

static int collect_rounds(struct collecting *collecting, sqlite3 *database, struct error *error)
{
    struct report *report = collecting->report;
    struct arrivals_left_out left_out = {0};
    struct error reason;
    if (read_kinds(collecting, database, error) != 0 ||
        fine_shapes_init(&collecting->shapes, database, report->path, error) != 0)
        return -1;
    if (arrivals_trace_each(database, report->path, add_round, collecting, &left_out, &reason) != 0)
        return keep_reason(report, &reason, error);
    finish(collecting);
    report->fine_grained.unseen = (int64_t)left_out.unseen;
    report->fine_grained.left_out += (int64_t)(left_out.incomplete + left_out.too_long);
    return 0;
}

int report_collect_fine_grained(struct report *report, sqlite3 *database, const struct report_choice *choice,
                                struct error *error)
{
    struct collecting *collecting = calloc(1, sizeof *collecting);
    struct error reason;
    if (collecting == NULL)
        return error_set(error, "%s: no memory", report->path);
    collecting->report = report;
    int result = section_machine_load(report, database, choice, &report->fine_grained.machine,
                                      &collecting->shapes.machine, &reason);
    if (result < 0) /* a damaged table costs this section alone */
        result = keep_reason(report, &reason, error);
    else if (result == 0)
        result = collect_rounds(collecting, database, error);
    fine_shapes_release(&collecting->shapes);
    free(collecting->kinds);
    free(collecting->first);
    free(collecting->sums);
    free(collecting->arrivals_s);
    free(collecting->scratch_s);
    free(collecting);
    return result < 0 ? -1 : 0;
}
