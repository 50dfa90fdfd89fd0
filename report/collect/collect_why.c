/* Collects why ranks take their time: the parts of the modelled time, the partners of the worst ranks, and how long
 * those that are done wait for the last. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/collect/report.h"
#include "share/base/array.h"

#define LONGEST_WAITS "10"

int report_rank_init(struct report_rank *rank, size_t n_models)
{
    size_t n = (9 + STORED_PARTS) * n_models;
    double *values = malloc((n + 1) * sizeof *values); /* one block, which covered_s owns */
    rank->mostly = calloc(n_models + 1, sizeof *rank->mostly);
    rank->extrapolated = calloc(n_models + 1, sizeof *rank->extrapolated);
    rank->covered_s = values;
    if (values == NULL || rank->mostly == NULL || rank->extrapolated == NULL)
        return -1;
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
    for (size_t i = 0; i < n_models; i++)
        rank->mostly[i] = "";
    rank->model_s = values + n_models;
    rank->low_s = values + 2 * n_models;
    rank->high_s = values + 3 * n_models;
    rank->outside_s = values + 4 * n_models;
    rank->inside_s = values + 5 * n_models;
    rank->visible_s = values + 6 * n_models;
    rank->off_s = values + 7 * n_models;
    rank->visible_off_s = values + 8 * n_models;
    rank->part_s = values + 9 * n_models;
    return 0;
}

void report_rank_release(struct report_rank *rank)
{
    free(rank->covered_s);
    free(rank->mostly);
    free(rank->extrapolated);
}

static int compare_rank(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = ((const struct report_rank *)right)->rank;
    return (a > b) - (a < b);
}

struct report_rank *report_find_rank(const struct report *report, int64_t number)
{
    return report->n_ranks == 0 ? NULL
                                : bsearch(&number, report->ranks, report->n_ranks, sizeof *report->ranks, compare_rank);
}

static int collect_parts(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT machine, model, options, rank, mostly, low_s, high_s, latency_s, bandwidth_s, contention_s, "
                "queue_s, link_s, skew_s, extrapolated FROM rank_part", /* parts in their order */
                error);
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        struct report_rank *rank = report_find_rank(report, cursor_integer(&rows, 3));
        if (model == report->n_models || rank == NULL)
            continue;
        rank->mostly[model] = cursor_text(&rows, 4, &report->pool);
        rank->low_s[model] = cursor_real(&rows, 5);
        rank->high_s[model] = cursor_real(&rows, 6);
        for (int part = 0; part < STORED_PARTS; part++)
            rank->part_s[model * STORED_PARTS + (size_t)part] = cursor_real(&rows, 7 + part);
        rank->extrapolated[model] = cursor_integer(&rows, 7 + STORED_PARTS) != 0;
    }
    return cursor_close(&rows);
}

/* Reads what +memory says, in traces that have its view. */
static int collect_memory(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path, "SELECT 1 FROM sqlite_master WHERE name = 'model_memory'", error);
    bool has = cursor_next(&rows);
    int code = cursor_close(&rows);
    if (code != 0 || !has)
        return code;
    cursor_open(&rows, database, report->path,
                "SELECT machine, model, options, computing, compute_slowdown FROM model_memory", error);
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        if (model == report->n_models)
            continue;
        report->models[model].computing = cursor_real(&rows, 3);
        report->models[model].compute_slowdown = cursor_real(&rows, 4);
    }
    return cursor_close(&rows);
}

void report_keep_longest(const struct report_rank *longest[REPORT_WORST], size_t *n, const struct report_rank *rank,
                         double (*time_s)(const struct report_rank *rank))
{
    size_t at = *n;
    while (at > 0 && time_s(longest[at - 1]) < time_s(rank))
        at--;
    if (at == REPORT_WORST)
        return;
    if (*n < REPORT_WORST)
        ++*n;
    memmove(&longest[at + 1], &longest[at], (*n - at - 1) * sizeof longest[0]);
    longest[at] = rank;
}

static double actual_s(const struct report_rank *rank)
{
    return rank->actual_s;
}

/* Finds the ranks of the longest measured time. */
static void find_worst(struct report *report)
{
    const struct report_rank *longest[REPORT_WORST];
    for (size_t i = 0; i < report->n_ranks; i++)
        if (report->ranks[i].actual_s > 0)
            report_keep_longest(longest, &report->n_worst, &report->ranks[i], actual_s);
    for (size_t i = 0; i < report->n_worst; i++)
        report->worst[i] = (struct report_worst){.rank = longest[i]};
}

/* Adds the partners of one of the worst ranks, on the machine of a model. */
static void add_partner(struct report *report, struct cursor *rows)
{
    for (size_t i = 0; i < report->n_worst; i++) {
        struct report_worst *worst = &report->worst[i];
        if (worst->rank->rank != cursor_integer(rows, 0) || worst->n_partners == REPORT_PARTNERS)
            continue;
        worst->partners[worst->n_partners++] = (struct report_partner){
            .rank = cursor_integer(rows, 1),
            .direction = cursor_text(rows, 2, &report->pool),
            .level = cursor_text(rows, 3, &report->pool),
            .messages = cursor_integer(rows, 4),
            .bytes = cursor_integer(rows, 5),
            .alone_s = cursor_real(rows, 6),
            .share = cursor_real(rows, 7),
        };
    }
}

/* This is the view partner_cost for some ranks only, ?2 as a JSON array: the sums over all pairs of a large run would
 * take longer than all else. */
static const char partners_sql[] =
    "WITH worst(rank) AS (SELECT value FROM json_each(?2)), "
    "  sample AS (SELECT min(id) AS round_id, count(*) AS rounds FROM round GROUP BY kind_id), "
    "  rate AS MATERIALIZED (SELECT * FROM single_rate WHERE machine = ?1), "
    "  picked AS MATERIALIZED ("
    "    SELECT src, dst, (SELECT level FROM form f WHERE f.id = m.form) AS place, bytes, s.rounds "
    "    FROM sample s CROSS JOIN message_row m ON m.round_id = s.round_id "
    "    WHERE src <> dst AND (src IN (SELECT rank FROM worst) OR dst IN (SELECT rank FROM worst))), "
    "  cost AS MATERIALIZED ("
    "    SELECT src, dst, r.level, sum(rounds) AS messages, sum(rounds * bytes) AS bytes, "
    "      sum(rounds * bytes / bytes_per_s) AS alone_s "
    "    FROM picked p JOIN rate r ON bytes >= from_bytes AND bytes < below_bytes "
    "      AND place = CASE r.level WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 WHEN 'inter_node' THEN 3 END "
    "    GROUP BY src, dst, r.level), "
    "  way(rank, partner, direction, level, messages, bytes, alone_s) AS ("
    "    SELECT dst, src, 'from', level, messages, bytes, alone_s FROM cost "
    "    UNION ALL SELECT src, dst, 'to', level, messages, bytes, alone_s FROM cost) "
    "SELECT rank, partner, direction, level, messages, bytes, alone_s, "
    "  alone_s / nullif(sum(alone_s) OVER (PARTITION BY rank, direction), 0) "
    "FROM way WHERE rank IN (SELECT rank FROM worst) ORDER BY alone_s DESC, partner, direction";

static int collect_partners(struct report *report, sqlite3 *database, const char *machine, struct error *error)
{
    struct cursor rows;
    char list[REPORT_WORST * 24 + 2] = "[";
    for (size_t i = 0; i < report->n_worst; i++) {
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%lld", i > 0 ? "," : "",
                 (long long)report->worst[i].rank->rank);
    }
    strcat(list, "]");
    cursor_open(&rows, database, report->path, partners_sql, error);
    if (rows.statement != NULL) {
        sqlite3_bind_text(rows.statement, 1, machine, -1, SQLITE_STATIC);
        sqlite3_bind_text(rows.statement, 2, list, -1, SQLITE_STATIC);
    }
    while (cursor_next(&rows))
        add_partner(report, &rows);
    return cursor_close(&rows);
}

static int collect_waits(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(
        &rows, database, report->path,
        "SELECT kind_id, rounds, ranks, last_rank, last_rounds, wait_s, mean_s, longest_s, share, sum(wait_s) OVER "
        "() FROM kind_wait ORDER BY wait_s DESC, kind_id LIMIT " LONGEST_WAITS,
        error);
    while (cursor_next(&rows)) {
        if (array_grow(&report->waits, report->n_waits, sizeof *report->waits) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        report->waits[report->n_waits++] = (struct report_wait){
            .kind = cursor_integer(&rows, 0),
            .rounds = cursor_integer(&rows, 1),
            .ranks = cursor_integer(&rows, 2),
            .last_rank = cursor_integer(&rows, 3),
            .last_rounds = cursor_integer(&rows, 4),
            .wait_s = cursor_real(&rows, 5),
            .mean_s = cursor_real(&rows, 6),
            .longest_s = cursor_real(&rows, 7),
            .share = cursor_real(&rows, 8),
        };
        report->wait_s = cursor_real(&rows, 9);
    }
    return cursor_close(&rows);
}

static int collect_late(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT rank, partner, messages, cause, function, coalesce(c.place, '?'), late_s, longest_s "
                "FROM late_partner l LEFT JOIN site c ON c.id = l.callsite "
                "ORDER BY late_s DESC, cause, rank, partner, function, l.callsite LIMIT " LONGEST_WAITS,
                error);
    while (cursor_next(&rows)) {
        if (array_grow(&report->late, report->n_late, sizeof *report->late) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        report->late[report->n_late++] = (struct report_late){
            .rank = cursor_integer(&rows, 0),
            .partner = cursor_integer(&rows, 1),
            .messages = cursor_integer(&rows, 2),
            .cause = cursor_text(&rows, 3, &report->pool),
            .function = cursor_text(&rows, 4, &report->pool),
            .place = cursor_text(&rows, 5, &report->pool),
            .late_s = cursor_real(&rows, 6),
            .longest_s = cursor_real(&rows, 7),
        };
    }
    return cursor_close(&rows);
}

int report_collect_why(struct report *report, sqlite3 *database, struct error *error)
{
    find_worst(report);
    if (collect_waits(report, database, error) != 0 || collect_late(report, database, error) != 0 ||
        collect_parts(report, database, error) != 0 || collect_memory(report, database, error) != 0)
        return -1;
    size_t best = report_best_model(report);
    if (best == report->n_models || report->n_worst == 0)
        return 0;
    return collect_partners(report, database, report->models[best].machine, error);
}
