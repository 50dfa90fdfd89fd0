/* Collects rounds, kinds, models and ranks: measured against modelled time, what of it stays visible in MPI where ranks
 * compute between post and wait, and why ranks take their time. The sums are those of the views in schema.sql. Papers
 * are named as in share/doc/MODELS.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/sums/concurrent_rounds.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/nearest.h"

#define LONGEST_WAITS "10"

static void collect_parts(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT machine, model, options, rank, mostly, low_s, high_s, latency_s, bandwidth_s, contention_s, "
                 "queue_s, link_s, skew_s, extrapolated FROM rank_part"); /* parts in their order */
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
    report_query_end(report, &rows);
}

/* Reads what +memory says, in traces that have its view. */
static void collect_memory(struct report *report)
{
    struct cursor rows;
    if (!report_has_table(report, "model_memory"))
        return;
    report_query(report, &rows, "SELECT machine, model, options, computing, compute_slowdown FROM model_memory");
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        if (model == report->n_models)
            continue;
        report->models[model].computing = cursor_real(&rows, 3);
        report->models[model].compute_slowdown = cursor_real(&rows, 4);
    }
    report_query_end(report, &rows);
}

/* Puts a rank into longest[n] if its time_s is among the REPORT_WORST longest, in their order; among equal ones the one
 * that came first stands before. */
static void keep_longest(const struct report_rank *longest[REPORT_WORST], size_t *n, const struct report_rank *rank,
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
            keep_longest(longest, &report->n_worst, &report->ranks[i], actual_s);
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

static void collect_partners(struct report *report, const char *machine)
{
    struct cursor rows;
    char list[REPORT_WORST * 24 + 2] = "[";
    for (size_t i = 0; i < report->n_worst; i++) {
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%lld", i > 0 ? "," : "",
                 (long long)report->worst[i].rank->rank);
    }
    strcat(list, "]");
    report_query(report, &rows, partners_sql);
    if (rows.statement != NULL) {
        sqlite3_bind_text(rows.statement, 1, machine, -1, SQLITE_STATIC);
        sqlite3_bind_text(rows.statement, 2, list, -1, SQLITE_STATIC);
    }
    while (cursor_next(&rows))
        add_partner(report, &rows);
    report_query_end(report, &rows);
}

static void collect_waits(struct report *report)
{
    struct cursor rows;
    report_query(
        report, &rows,
        "SELECT kind_id, rounds, ranks, last_rank, last_rounds, wait_s, mean_s, longest_s, share, sum(wait_s) OVER "
        "() FROM kind_wait ORDER BY wait_s DESC, kind_id LIMIT " LONGEST_WAITS);
    while (cursor_next(&rows)) {
        array_grow(&report->waits, report->n_waits, sizeof *report->waits);
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
    report_query_end(report, &rows);
}

static void collect_late(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT rank, partner, messages, cause, function, coalesce(c.place, '?'), late_s, longest_s "
                 "FROM late_partner l LEFT JOIN site c ON c.id = l.callsite "
                 "ORDER BY late_s DESC, cause, rank, partner, function, l.callsite LIMIT " LONGEST_WAITS);
    while (cursor_next(&rows)) {
        array_grow(&report->late, report->n_late, sizeof *report->late);
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
    report_query_end(report, &rows);
}

static void collect_why(struct report *report)
{
    find_worst(report);
    collect_waits(report);
    collect_late(report);
    collect_parts(report);
    collect_memory(report);
    size_t best = report_best_model(report);
    if (best < report->n_models && report->n_worst > 0)
        collect_partners(report, report->models[best].machine);
}

/* Finds the ranks with the longest time outside MPI in their rounds. */
static void find_outside(struct report *report)
{
    struct report_overlap *overlap = &report->overlap;
    double outside_s = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        double own_s = report_outside_s(rank);
        if (!(rank->actual_s > 0) || !(own_s > 0))
            continue;
        outside_s += own_s;
        overlap->matters = overlap->matters || own_s >= (REPORT_OVERLAP - 1e-9) * rank->actual_s;
        keep_longest(overlap->ranks, &overlap->n_ranks, rank, report_outside_s);
    }
    overlap->share = report->actual_s > 0 ? outside_s / report->actual_s : NAN;
}

/* Computes T eq. 11 and the bias of a model's visible time, over the ranks for which it was run. */
static void sum_errors(struct report *report, size_t model)
{
    double inside_s = 0, off_s = 0, over_s = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        if (isnan(rank->inside_s[model]) || isnan(rank->visible_s[model]))
            continue;
        inside_s += rank->inside_s[model];
        off_s += rank->visible_off_s[model];
        over_s += rank->visible_s[model] - rank->inside_s[model];
    }
    report->models[model].visible_error = inside_s > 0 ? off_s / inside_s : NAN;
    report->models[model].visible_bias = inside_s > 0 ? over_s / inside_s : NAN;
}

static void collect_overlap(struct report *report)
{
    struct cursor rows;
    find_outside(report);
    /* This is the view rank_visible without its sum of the modelled time, which is known. */
    report_query(report, &rows,
                 "SELECT q.machine, q.model, q.options, m.rank, sum(m.rounds * m.outside_s), "
                 "  sum(m.rounds * m.in_mpi_s), sum(m.rounds * max(p.time_s - m.outside_s, 0)), "
                 "  sum(m.rounds * abs(m.in_mpi_s - max(p.time_s - m.outside_s, 0))) "
                 "FROM prediction_run q JOIN prediction p ON p.run_id = q.id "
                 "  JOIN kind_in_mpi m ON m.kind_id = p.kind_id AND m.rank = p.rank GROUP BY q.id, m.rank");
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        struct report_rank *rank = report_find_rank(report, cursor_integer(&rows, 3));
        if (model == report->n_models || rank == NULL)
            continue;
        rank->outside_s[model] = cursor_real(&rows, 4);
        rank->inside_s[model] = cursor_real(&rows, 5);
        rank->visible_s[model] = cursor_real(&rows, 6);
        rank->visible_off_s[model] = cursor_real(&rows, 7);
    }
    for (size_t model = 0; model < report->n_models; model++)
        sum_errors(report, model);
    report_query_end(report, &rows);
}

static void collect_rounds(struct report *report)
{
    struct cursor rows;
    report_query(
        report, &rows,
        "SELECT (SELECT count(*) FROM round), (SELECT count(*) FROM kind), coalesce(sum(rounds * actual_s), 0), "
        "sum(CASE WHEN rounds >= 3 THEN rounds * actual_s ELSE 0 END) / nullif(sum(rounds * actual_s), 0), "
        "(SELECT total(1.0 * rounds * messages) FROM kind) FROM kind_actual");
    if (cursor_next(&rows)) {
        report->rounds = cursor_integer(&rows, 0);
        report->all_kinds = cursor_integer(&rows, 1);
        report->actual_s = cursor_real(&rows, 2);
        report->repeated_share = cursor_real(&rows, 3);
        report->round_messages = cursor_integer(&rows, 4);
    }
    report_query_end(report, &rows);
    report_query(
        report, &rows,
        "SELECT count(*), sum(CASE WHEN rounds >= 3 THEN time_s ELSE 0 END) / nullif(sum(time_s), 0) FROM family");
    if (cursor_next(&rows)) {
        report->families = cursor_integer(&rows, 0);
        report->family_share = cursor_real(&rows, 1);
    }
    report_query_end(report, &rows);
    if (report->result == 0)
        report->result =
            concurrent_rounds_share(report->database, report->path, &report->concurrent_share, report->error);
    report->errors_withheld = report->concurrent_share > CONCURRENT_LIMIT;
    /* This is the view replicate_error. */
    report_query(
        report, &rows,
        "SELECT sum(off_s) / nullif(sum(first_s + second_s) / 2, 0), "
        "  (SELECT sum(rounds * actual_s) FROM kind_actual WHERE kind_id IN (SELECT kind_id FROM temp.halves)) "
        "    / nullif((SELECT sum(actual_s) FROM rank_actual), 0), "
        "  (SELECT count(DISTINCT kind_id) FROM temp.halves), 'halves of one launch' FROM temp.replicate");
    if (cursor_next(&rows)) {
        report->replicate_error = cursor_real(&rows, 0);
        report->replicate_share = cursor_real(&rows, 1);
        report->replicate_kinds = cursor_integer(&rows, 2);
        report->replicate_basis = cursor_text(&rows, 3, &report->pool);
    }
    report_query_end(report, &rows);
}

static void collect_models(struct report *report, const struct report_choice *choice)
{
    struct cursor rows;
    const char *wanted = choice->model != NULL ? choice->model : choice->machine;
    struct nearest nearest = nearest_to(wanted != NULL ? wanted : "");
    report_query(report, &rows,
                 "SELECT e.machine, e.model, e.options, q.extrapolated, e.error, e.mape, e.bias, e.worst_rank, "
                 "trim(e.model || ' ' || e.options) "
                 "FROM model_error e JOIN prediction_run q USING (machine, model, options) "
                 "ORDER BY e.machine, e.error IS NULL, e.error, e.model, e.options");
    while (cursor_next(&rows)) {
        struct report_model model = {
            .machine = cursor_text(&rows, 0, &report->pool),
            .model = cursor_text(&rows, 1, &report->pool),
            .options = cursor_text(&rows, 2, &report->pool),
            .extrapolated = cursor_integer(&rows, 3) != 0,
            .error = cursor_real(&rows, 4),
            .mape = cursor_real(&rows, 5),
            .bias = cursor_real(&rows, 6),
            .worst_rank = cursor_integer(&rows, 7),
            .visible_error = NAN,
            .visible_bias = NAN,
            .title = cursor_text(&rows, 8, &report->pool),
        };
        nearest_add(&nearest, choice->model != NULL ? model.model : model.machine);
        if ((choice->machine != NULL && strcmp(choice->machine, model.machine) != 0) ||
            (choice->model != NULL && strcmp(choice->model, model.model) != 0))
            continue;
        array_grow(&report->models, report->n_models, sizeof *report->models);
        report->models[report->n_models++] = model;
    }
    report_query_end(report, &rows);
    if (report->result != 0 || report->n_models > 0 || wanted == NULL)
        return;
    const char *hint = nearest_hint(&nearest);
    report->result = error_set(
        report->error, "%s: holds no prediction of %s %s%s 'mpistair query %s model_error' lists those there",
        report->path, choice->model != NULL ? "model" : "machine", wanted, hint[0] != '\0' ? hint : ";", report->path);
}

static double *nan_vector(size_t n)
{
    double *values = xcalloc(n, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = NAN;
    return values;
}

static void collect_kinds(struct report *report)
{
    struct cursor rows;
    report_query(
        report, &rows,
        "SELECT kind_id, rounds, messages, coalesce(max_messages, 0), bytes, 1.0 * intra_socket_bytes / "
        "nullif(bytes, 0), 1.0 * inter_socket_bytes / nullif(bytes, 0), 1.0 * inter_node_bytes / nullif(bytes, "
        "0), time_s FROM temp.heaviest_kind ORDER BY time_s DESC, kind_id");
    while (cursor_next(&rows)) {
        array_grow(&report->kinds, report->n_kinds, sizeof *report->kinds);
        report->kinds[report->n_kinds++] = (struct report_kind){
            .id = cursor_integer(&rows, 0),
            .rounds = cursor_integer(&rows, 1),
            .messages = cursor_integer(&rows, 2),
            .max_messages = cursor_integer(&rows, 3),
            .bytes = cursor_integer(&rows, 4),
            .intra_socket = cursor_real(&rows, 5),
            .inter_socket = cursor_real(&rows, 6),
            .inter_node = cursor_real(&rows, 7),
            .time_s = cursor_real(&rows, 8),
            .time_share = cursor_real(&rows, 8) / report->actual_s,
            .error = nan_vector(report->n_models),
        };
    }
    report_query_end(report, &rows);
    report_query(report, &rows,
                 "SELECT machine, model, options, kind_id, error FROM kind_error WHERE kind_id IN "
                 "(SELECT kind_id FROM temp.heaviest_kind)");
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        for (size_t k = 0; k < report->n_kinds && model < report->n_models; k++)
            if (report->kinds[k].id == cursor_integer(&rows, 3))
                report->kinds[k].error[model] = cursor_real(&rows, 4);
    }
    report_query_end(report, &rows);
}

/* Makes room for what each model says. */
static void rank_init(struct report_rank *rank, size_t n_models)
{
    double *values = nan_vector((9 + STORED_PARTS) * n_models); /* one block, which covered_s owns */
    rank->mostly = xcalloc(n_models, sizeof *rank->mostly);
    rank->extrapolated = xcalloc(n_models, sizeof *rank->extrapolated);
    for (size_t i = 0; i < n_models; i++)
        rank->mostly[i] = "";
    rank->covered_s = values;
    rank->model_s = values + n_models;
    rank->low_s = values + 2 * n_models;
    rank->high_s = values + 3 * n_models;
    rank->outside_s = values + 4 * n_models;
    rank->inside_s = values + 5 * n_models;
    rank->visible_s = values + 6 * n_models;
    rank->off_s = values + 7 * n_models;
    rank->visible_off_s = values + 8 * n_models;
    rank->part_s = values + 9 * n_models;
}

static void collect_ranks(struct report *report)
{
    struct cursor rows;
    report_query(
        report, &rows,
        "WITH sent AS (SELECT src AS rank, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY src), "
        "  received AS (SELECT dst AS rank, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY dst), "
        "  everyone AS (SELECT rank FROM process UNION SELECT rank FROM round_process) "
        "SELECT e.rank, coalesce(p.node, -1), coalesce(p.socket, -1), coalesce(p.core, -1), n.host, p.ended, "
        "  coalesce(s.n, 0), coalesce(s.bytes, 0), coalesce(r.n, 0), coalesce(r.bytes, 0), a.actual_s, "
        "  a.in_mpi_s, h.first_s, h.second_s, l.late_senders_s, l.late_receivers_s, p.wait_ns * 1e-9 "
        "FROM everyone e LEFT JOIN process p USING (rank) LEFT JOIN node n ON n.id = p.node "
        "  LEFT JOIN sent s USING (rank) LEFT JOIN received r USING (rank) LEFT JOIN rank_actual a USING (rank) "
        "  LEFT JOIN temp.replicate h USING (rank) LEFT JOIN rank_late l USING (rank) "
        "ORDER BY e.rank");
    while (cursor_next(&rows)) {
        struct report_rank rank = {
            .rank = cursor_integer(&rows, 0),
            .node = cursor_integer(&rows, 1),
            .socket = cursor_integer(&rows, 2),
            .core = cursor_integer(&rows, 3),
            .host = cursor_text(&rows, 4, &report->pool),
            .ended = cursor_text(&rows, 5, &report->pool),
            .sent = cursor_integer(&rows, 6),
            .sent_bytes = cursor_integer(&rows, 7),
            .received = cursor_integer(&rows, 8),
            .received_bytes = cursor_integer(&rows, 9),
            .actual_s = cursor_real(&rows, 10),
            .in_mpi_s = cursor_real(&rows, 11),
            .first_s = cursor_real(&rows, 12),
            .second_s = cursor_real(&rows, 13),
            .late_senders_s = cursor_real(&rows, 14),
            .late_receivers_s = cursor_real(&rows, 15),
            .waited_s = cursor_real(&rows, 16),
        };
        rank_init(&rank, report->n_models);
        array_grow(&report->ranks, report->n_ranks, sizeof *report->ranks);
        report->ranks[report->n_ranks++] = rank;
        if (rank.late_senders_s > 0)
            report->late_senders_share += rank.late_senders_s / report->actual_s;
        if (rank.late_receivers_s > 0)
            report->late_receivers_share += rank.late_receivers_s / report->actual_s;
    }
    report_query_end(report, &rows);
}

/* Fills the ranks' modelled times, and the models' coverage from them. */
static void collect_rank_models(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows, "SELECT machine, model, options, rank, actual_s, model_s, off_s FROM rank_error");
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        int64_t number = cursor_integer(&rows, 3);
        struct report_rank *rank = report_find_rank(report, number);
        if (model == report->n_models || rank == NULL)
            continue;
        rank->covered_s[model] = cursor_real(&rows, 4);
        rank->model_s[model] = cursor_real(&rows, 5);
        rank->off_s[model] = cursor_real(&rows, 6);
        report->models[model].coverage += rank->covered_s[model] / report->actual_s;
    }
    report_query_end(report, &rows);
}

void report_collect_rounds(struct report *report, const struct report_choice *choice)
{
    collect_rounds(report);
    collect_models(report, choice);
    collect_kinds(report);
    collect_ranks(report);
    collect_rank_models(report);
    if (!choice->details)
        return;
    collect_overlap(report);
    collect_why(report);
}
