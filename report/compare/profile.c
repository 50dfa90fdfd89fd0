/* Reads what `mpistair diff` compares of a run. The reader of whole runs (predictor/run_read) gives each call with the
 * parts of its time; a rank's calls are kept until its last one, then sorted by site and summed up. */
#include "report/compare/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/shards.h"
#include "predictor/run_read/run_read.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/progress.h"
#include "share/base/saturating.h"
#include "share/base/statistics.h"

static int read_run(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    bool found = false;
    cursor_open(&rows, database, profile->path,
                "SELECT command, mpi_library, world_size, duration_ns, started_unix_ns, run_key, mpi_family FROM run",
                error);
    while (cursor_next(&rows)) {
        found = true;
        int64_t n_ranks = cursor_integer(&rows, 2);
        profile->command = cursor_text(&rows, 0, &profile->pool);
        profile->mpi = cursor_text(&rows, 6, &profile->pool);
        profile->n_ranks = n_ranks < 0 || n_ranks > INT32_MAX ? 0 : (uint32_t)n_ranks;
        profile->duration_s = cursor_real(&rows, 3) * 1e-9;
        profile->started_ns = cursor_integer(&rows, 4);
        profile->run_key = cursor_text(&rows, 5, &profile->pool);
    }
    int result = cursor_close(&rows);
    if (result == 0 && !found)
        return error_set(error, "%s: the table run is empty, expected a row; is the trace made by 'mpistair ingest'?",
                         profile->path);
    if (result == 0 && !(isfinite(profile->duration_s) && profile->duration_s >= 0))
        return error_set(error, "%s: run.duration_ns is %g, expected a time from 0 on", profile->path,
                         profile->duration_s * 1e9);
    return result;
}

static int read_processors(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, profile->path,
                "SELECT avg(wait_share) FROM processor_share WHERE wait_share BETWEEN 0 AND 1", error);
    while (cursor_next(&rows)) {
        double share = cursor_real(&rows, 0);
        profile->processor_wait = isfinite(share) ? share : 0;
    }
    return cursor_close(&rows);
}

struct watched_call {
    uint32_t site;
    uint32_t number; /* keeps the order */
    double part_s[PROFILE_PARTS];
    bool collective; /* its time depends on a collective, also where MPI_Wait waits for one */
};

struct watching {
    struct profile *profile;
    const struct run_program *program;
    uint32_t rank;
    struct watched_call *calls; /* of the rank */
    size_t n_calls;
    double *values; /* [capacity] of one part */
    size_t capacity;
};

/* Returns the mean of the fastest quarter. */
static double undisturbed(double *values, size_t n)
{
    sort_doubles(values, n);
    size_t quarter = (n + 3) / 4;
    double sum = 0;
    for (size_t i = 0; i < quarter; i++)
        sum += values[i];
    return sum / (double)quarter;
}

void profile_spans(double *values, size_t n, double span_s[PROFILE_SPANS])
{
    for (size_t span = 0; span < PROFILE_SPANS; span++) {
        size_t first = span * n / PROFILE_SPANS, end = (span + 1) * n / PROFILE_SPANS;
        if (n < PROFILE_SPANS) { /* a call then stands for more than one span, and is alone in each */
            span_s[span] = n == 0 ? 0 : values[first] * (double)n / PROFILE_SPANS;
            continue;
        }
        span_s[span] = undisturbed(values + first, end - first) * (double)n / PROFILE_SPANS;
    }
}

static void sum_part(struct watching *watching, struct profile_cell *cell, const struct watched_call *calls, size_t n,
                     enum profile_part part)
{
    double span_s[PROFILE_SPANS];
    for (size_t i = 0; i < n; i++) {
        watching->values[i] = calls[i].part_s[part];
        cell->total_s[part] += calls[i].part_s[part];
        watching->profile->run_span_s[i * PROFILE_SPANS / n] += calls[i].part_s[part];
    }
    if (part == PROFILE_WAIT)
        return;
    profile_spans(watching->values, n, span_s);
    for (size_t i = 0; i < PROFILE_SPANS; i++)
        cell->span_s[part][i] = (float)span_s[i];
}

static void add_cell(struct watching *watching, const struct watched_call *calls, size_t n)
{
    struct profile *profile = watching->profile;
    array_grow(&profile->cells, profile->n_cells, sizeof *profile->cells);
    array_reserve(&watching->values, &watching->capacity, n, sizeof *watching->values);
    struct profile_cell *cell = &profile->cells[profile->n_cells++];
    *cell = (struct profile_cell){.rank = watching->rank, .site = calls->site, .calls = n};
    for (enum profile_part part = 0; part < PROFILE_PARTS; part++)
        sum_part(watching, cell, calls, n, part);
    struct profile_site *site = &profile->sites[calls->site];
    for (size_t i = 0; i < n && site->kind == SPENT_MESSAGES; i++)
        if (calls[i].collective)
            site->kind = SPENT_COLLECTIVES;
}

static int compare_calls(const void *left, const void *right)
{
    const struct watched_call *a = left, *b = right;
    return ORDER(a->site, b->site) ?: ORDER(a->number, b->number);
}

/* Makes room for the sites that the program has by now. */
static void keep_sites(struct watching *watching)
{
    struct profile *profile = watching->profile;
    for (; profile->n_sites < watching->program->n_sites; profile->n_sites++) {
        const struct run_site *site = &watching->program->sites[profile->n_sites];
        const char *function = pool_clean(&profile->pool, site->function, strlen(site->function));
        array_grow(&profile->sites, profile->n_sites, sizeof *profile->sites);
        profile->sites[profile->n_sites] = (struct profile_site){
            function, "", "", "", "", "", .callsite = site->callsite, .kind = activity_kind(function)};
    }
}

static void end_rank(struct watching *watching)
{
    if (watching->n_calls == 0)
        return;
    keep_sites(watching);
    qsort(watching->calls, watching->n_calls, sizeof *watching->calls, compare_calls);
    for (size_t i = 0, end; i < watching->n_calls; i = end) {
        for (end = i + 1; end < watching->n_calls && watching->calls[end].site == watching->calls[i].site;)
            end++;
        add_cell(watching, watching->calls + i, end - i);
    }
    watching->n_calls = 0;
}

static void watch_call(void *context, const struct run_program *program, const struct run_call *call)
{
    struct watching *watching = context;
    const double *part_s = call->part_s.part_s;
    watching->program = program;
    if (call->rank != watching->rank)
        end_rank(watching);
    watching->rank = call->rank;
    double wait_s = part_s[RUN_LATE_SENDER] + part_s[RUN_LATE_RECEIVER] + part_s[RUN_COLLECTIVE_WAIT];
    ARRAY_ADD(watching->calls, watching->n_calls,
              (struct watched_call){.site = call->site,
                                    .number = (uint32_t)watching->n_calls,
                                    .part_s = {[PROFILE_COMPUTATION] = part_s[RUN_COMPUTATION],
                                               [PROFILE_WAIT] = wait_s,
                                               [PROFILE_CALL] = fmax(call->end_s - call->begin_s - wait_s, 0)},
                                    .collective = part_s[RUN_COLLECTIVE_WAIT] + part_s[RUN_COLLECTIVE_TRANSFER] > 0});
}

/* Fills in what the table callsite says of the sites. */
static int name_sites(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, profile->path,
                "SELECT c.id, function, c.file, c.line, module, offset, s.name, s.callers FROM callsite c JOIN site s "
                "ON s.id = c.id",
                error);
    while (cursor_next(&rows)) {
        int64_t id = cursor_integer(&rows, 0);
        for (struct profile_site *site = profile->sites; site < profile->sites + profile->n_sites; site++)
            if (site->callsite == id) {
                site->symbol = cursor_text(&rows, 1, &profile->pool);
                site->file = cursor_text(&rows, 2, &profile->pool);
                site->line = cursor_integer(&rows, 3);
                site->module = cursor_text(&rows, 4, &profile->pool);
                site->offset = cursor_integer(&rows, 5);
                site->name = cursor_text(&rows, 6, &profile->pool);
                site->callers = cursor_text(&rows, 7, &profile->pool);
            }
    }
    return cursor_close(&rows);
}

/* Makes the cells of the calls of a trace, and the sites. */
static int read_calls(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct run_program program = {0};
    struct watching watching = {.profile = profile};
    struct run_watch watch = {watch_call, &watching};
    int result = run_program_read(database, profile->path, &(struct run_want){.calls = &watch}, &program, error);
    if (result == 0) {
        end_rank(&watching);
        run_program_release(&program);
        result = name_sites(profile, database, error);
    }
    free(watching.calls);
    free(watching.values);
    return result;
}

/* Adds up what each call site was asked to move. No clock is in it: where it differs, the program did other work. */
static int read_bytes(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    char *sql =
        xasprintf("WITH form_bytes AS MATERIALIZED (SELECT form, total(bytes) AS bytes FROM %s GROUP BY form) "
                  "SELECT coalesce(f.send_callsite, -1), n.name, total(m.bytes) FROM form_bytes m "
                  "JOIN form f ON f.id = m.form JOIN function n ON n.id = f.send_function GROUP BY 1, 2 "
                  "UNION ALL SELECT coalesce(callsite, -1), function, total(bytes) FROM collective GROUP BY 1, 2 "
                  "UNION ALL SELECT coalesce(callsite, -1), function, total(bytes) FROM rma GROUP BY 1, 2",
                  shards_have_sums(database) ? "form_sum" : "message_row");
    cursor_open(&rows, database, profile->path, sql, error);
    free(sql);
    while (cursor_next(&rows)) {
        int64_t id = cursor_integer(&rows, 0);
        const char *function = (const char *)sqlite3_column_text(rows.statement, 1);
        double bytes = cursor_real(&rows, 2);
        for (size_t i = 0; i < profile->n_sites && function != NULL && bytes > 0; i++) {
            struct profile_site *site = &profile->sites[i];
            if (site->callsite == id && strcmp(site->function, function) == 0)
                site->bytes =
                    (uint64_t)saturating_add((int64_t)site->bytes, bytes < 0x1p63 ? (int64_t)bytes : INT64_MAX);
        }
    }
    return cursor_close(&rows);
}

/* Sums up the messages of each level. A message takes time from when both sides had posted it to when its receive was
 * complete: what one side waits for the other is not the level's. */
static int read_levels(struct profile *profile, sqlite3 *database, struct error *error)
{
    double *values[PROFILE_LEVELS] = {NULL};
    size_t n[PROFILE_LEVELS] = {0};
    struct cursor rows;
    cursor_open(&rows, database, profile->path,
                "SELECT coalesce(f.level, -1), m.bytes, m.recv_ns - max(-m.late_ns, 0) FROM message_row m "
                "LEFT JOIN form f ON f.id = m.form ORDER BY m.id",
                error);
    while (cursor_next(&rows)) {
        int64_t number = cursor_integer(&rows, 0), bytes = cursor_integer(&rows, 1);
        size_t at = number >= 0 && number < PROFILE_LEVELS - 1 ? (size_t)number : PROFILE_LEVELS - 1;
        struct profile_level *level = &profile->levels[at];
        double seconds = cursor_real(&rows, 2) * 1e-9;
        level->messages++;
        level->bytes = (uint64_t)saturating_add((int64_t)level->bytes, bytes > 0 ? bytes : 0);
        if (!(isfinite(seconds) && seconds >= 0)) /* never reported complete, or two clocks that disagree */
            continue;
        level->total_s += seconds;
        ARRAY_ADD(values[at], n[at], seconds);
    }
    for (size_t i = 0; i < PROFILE_LEVELS; i++) {
        profile_spans(values[i], n[i], profile->levels[i].span_s);
        free(values[i]);
    }
    return cursor_close(&rows);
}

/* Adds a cell of totals; its site is the last one. */
static void add_total(struct profile *profile, int64_t rank, int64_t calls, enum profile_part part, double seconds)
{
    struct profile_cell cell = {
        .rank = (uint32_t)rank, .site = (uint32_t)profile->n_sites - 1, .calls = (uint64_t)calls, .of_totals = true};
    cell.total_s[part] = seconds;
    for (size_t i = 0; i < PROFILE_SPANS; i++)
        cell.span_s[part][i] = (float)(seconds / PROFILE_SPANS);
    ARRAY_ADD(profile->cells, profile->n_cells, cell);
}

/* Makes the cells and the sites of totals, and counts messages by level. The computation of a rank is what its calls
 * leave of its time. */
static int read_totals(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    ARRAY_ADD(profile->sites, profile->n_sites,
              (struct profile_site){"", "", "", "", "", "", .callsite = -1, .kind = SPENT_COMPUTATION});
    cursor_open(&rows, database, profile->path,
                "SELECT p.rank, max(p.end_ns - p.begin_ns - coalesce((SELECT sum(time_ns) FROM total t WHERE t.rank = "
                "p.rank), 0), "
                "0) * 1e-9 FROM process p WHERE p.rank BETWEEN 0 AND 4294967294 AND p.end_ns >= p.begin_ns ORDER BY 1",
                error);
    while (cursor_next(&rows))
        add_total(profile, cursor_integer(&rows, 0), 1, PROFILE_COMPUTATION, cursor_real(&rows, 1));
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, database, profile->path,
                "SELECT f.name, coalesce(t.callsite, -1), rank, sum(calls), sum(1.0 * time_ns) * 1e-9, total(CASE WHEN "
                "NOT idle "
                "AND coalesce(direction, 'send') = 'send' THEN bytes END) FROM total t JOIN function f ON f.id = "
                "t.function WHERE "
                "rank BETWEEN 0 AND 4294967294 AND calls > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
                error);
    while (cursor_next(&rows)) {
        const char *function = cursor_text(&rows, 0, &profile->pool);
        const struct profile_site *last = &profile->sites[profile->n_sites - 1];
        if (last->callsite != cursor_integer(&rows, 1) || strcmp(last->function, function) != 0)
            ARRAY_ADD(profile->sites, profile->n_sites,
                      (struct profile_site){function, "", "", "", "", "", .callsite = cursor_integer(&rows, 1),
                                            .kind = activity_kind(function)});
        struct profile_site *site = &profile->sites[profile->n_sites - 1];
        site->bytes =
            (uint64_t)saturating_add((int64_t)site->bytes, (int64_t)fmin(fmax(cursor_real(&rows, 5), 0), 0x1p62));
        add_total(profile, cursor_integer(&rows, 2), cursor_integer(&rows, 3), PROFILE_CALL, cursor_real(&rows, 4));
    }
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, database, profile->path,
                "SELECT coalesce(level, -1), sum(calls), total(bytes) FROM total WHERE direction = 'send' AND calls > "
                "0 GROUP BY 1",
                error);
    while (cursor_next(&rows)) {
        int64_t number = cursor_integer(&rows, 0);
        size_t at = number >= 0 && number < PROFILE_LEVELS - 1 ? (size_t)number : PROFILE_LEVELS - 1;
        profile->levels[at].messages += (uint64_t)cursor_integer(&rows, 1);
        profile->levels[at].bytes += (uint64_t)fmin(fmax(cursor_real(&rows, 2), 0), 0x1p62);
    }
    return cursor_close(&rows) != 0 ? -1 : name_sites(profile, database, error);
}

int profile_read(struct profile *profile, sqlite3 *database, const char *path, bool of_totals, struct error *error)
{
    *profile = (struct profile){.path = path, .command = "", .mpi = "", .run_key = ""};
    progress_show("diff: calls and messages of a run");
    int result = read_run(profile, database, error) != 0 || read_processors(profile, database, error) != 0 ||
                         whole_read(&profile->whole, database, path, error) != 0
                     ? -1
                     : 0;
    if (result == 0 && of_totals)
        result = read_totals(profile, database, error);
    else if (result == 0)
        result = read_calls(profile, database, error) != 0 || read_bytes(profile, database, error) != 0 ||
                         read_levels(profile, database, error) != 0
                     ? -1
                     : 0;
    progress_show(NULL);
    return result;
}

void profile_release(struct profile *profile)
{
    free(profile->sites);
    free(profile->cells);
    pool_release(&profile->pool);
    *profile = (struct profile){0};
}
