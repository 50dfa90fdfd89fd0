/* Collects rounds, kinds, models and ranks: measured against modelled. The sums are those of the views in schema.sql.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/progress.h"
#include "interpose/sums/concurrent_rounds.h"
#include "report/collect/report.h"
#include "interpose/sums/working_tables.h"
#include "share/base/array.h"
#include "share/base/nearest.h"

static int collect_rounds(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(
        &rows, database, report->path,
        "SELECT (SELECT count(*) FROM round), (SELECT count(*) FROM kind), coalesce(sum(rounds * actual_s), 0), "
        "sum(CASE WHEN rounds >= 3 THEN rounds * actual_s ELSE 0 END) / nullif(sum(rounds * actual_s), 0), "
        "(SELECT total(1.0 * rounds * messages) FROM kind) FROM kind_actual",
        error);
    if (cursor_next(&rows)) {
        report->rounds = cursor_integer(&rows, 0);
        report->all_kinds = cursor_integer(&rows, 1);
        report->actual_s = cursor_real(&rows, 2);
        report->repeated_share = cursor_real(&rows, 3);
        report->round_messages = cursor_integer(&rows, 4);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(
        &rows, database, report->path,
        "SELECT count(*), sum(CASE WHEN rounds >= 3 THEN time_s ELSE 0 END) / nullif(sum(time_s), 0) FROM family",
        error);
    if (cursor_next(&rows)) {
        report->families = cursor_integer(&rows, 0);
        report->family_share = cursor_real(&rows, 1);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    if (concurrent_rounds_share(database, report->path, &report->concurrent_share, error) != 0)
        return -1;
    report->errors_withheld = report->concurrent_share > CONCURRENT_LIMIT;
    /* This is the view replicate_error. */
    cursor_open(&rows, database, report->path,
                "SELECT sum(off_s) / nullif(sum(first_s + second_s) / 2, 0), "
                "  (SELECT sum(rounds * actual_s) FROM kind_actual WHERE kind_id IN (SELECT kind_id FROM temp.halves)) "
                "    / nullif((SELECT sum(actual_s) FROM rank_actual), 0), "
                "  (SELECT count(DISTINCT kind_id) FROM temp.halves), 'halves of one launch' FROM temp.replicate",
                error);
    if (cursor_next(&rows)) {
        report->replicate_error = cursor_real(&rows, 0);
        report->replicate_share = cursor_real(&rows, 1);
        report->replicate_kinds = cursor_integer(&rows, 2);
        report->replicate_basis = cursor_text(&rows, 3, &report->pool);
    }
    return cursor_close(&rows);
}

/* Says that the trace has no prediction of the choice; nearest knows what it has. */
static int no_prediction(const struct report *report, const struct report_choice *choice, struct nearest *nearest,
                         struct error *error)
{
    const char *hint = nearest_hint(nearest);
    return error_set(error, "%s: holds no prediction of %s %s%s 'mpistair query %s model_error' lists those there",
                     report->path, choice->model != NULL ? "model" : "machine",
                     choice->model != NULL ? choice->model : choice->machine, hint[0] != '\0' ? hint : ";",
                     report->path);
}

static int collect_models(struct report *report, sqlite3 *database, const struct report_choice *choice,
                          struct error *error)
{
    struct cursor rows;
    const char *wanted = choice->model != NULL ? choice->model : choice->machine;
    struct nearest nearest = nearest_to(wanted != NULL ? wanted : "");
    cursor_open(&rows, database, report->path,
                "SELECT e.machine, e.model, e.options, q.extrapolated, e.error, e.mape, e.bias, e.worst_rank, "
                "trim(e.model || ' ' || e.options) "
                "FROM model_error e JOIN prediction_run q USING (machine, model, options) "
                "ORDER BY e.machine, e.error IS NULL, e.error, e.model, e.options",
                error);
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
        if (array_grow(&report->models, report->n_models, sizeof *report->models) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        report->models[report->n_models++] = model;
    }
    if (cursor_close(&rows) != 0)
        return -1;
    if (report->n_models == 0 && (choice->machine != NULL || choice->model != NULL))
        return no_prediction(report, choice, &nearest, error);
    return 0;
}

/* Returns a vector of n NaNs; n 0 gives one, so that NULL means no memory. */
static double *nan_vector(size_t n)
{
    double *values = calloc(n == 0 ? 1 : n, sizeof *values);
    if (values != NULL)
        for (size_t i = 0; i < n; i++)
            values[i] = NAN;
    return values;
}

size_t report_find_model(const struct report *report, struct cursor *rows, int first_column)
{
    const char *key[3];
    for (int i = 0; i < 3; i++) {
        key[i] = (const char *)sqlite3_column_text(rows->statement, first_column + i);
        if (key[i] == NULL)
            return report->n_models;
    }
    size_t at = 0;
    while (at < report->n_models &&
           (strcmp(key[0], report->models[at].machine) != 0 || strcmp(key[1], report->models[at].model) != 0 ||
            strcmp(key[2], report->models[at].options) != 0))
        at++;
    return at;
}

static int collect_kinds(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT kind_id, rounds, messages, coalesce(max_messages, 0), bytes, 1.0 * intra_socket_bytes / "
                "nullif(bytes, 0), 1.0 * inter_socket_bytes / nullif(bytes, 0), 1.0 * inter_node_bytes / nullif(bytes, "
                "0), time_s FROM temp.heaviest_kind ORDER BY time_s DESC, kind_id",
                error);
    while (cursor_next(&rows)) {
        double *kind_error = nan_vector(report->n_models);
        if (kind_error == NULL || array_grow(&report->kinds, report->n_kinds, sizeof *report->kinds) != 0) {
            free(kind_error);
            cursor_no_memory(&rows);
            break;
        }
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
            .error = kind_error,
        };
    }
    if (cursor_close(&rows) != 0)
        return -1;
    cursor_open(&rows, database, report->path,
                "SELECT machine, model, options, kind_id, error FROM kind_error WHERE kind_id IN "
                "(SELECT kind_id FROM temp.heaviest_kind)",
                error);
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        for (size_t k = 0; k < report->n_kinds && model < report->n_models; k++)
            if (report->kinds[k].id == cursor_integer(&rows, 3))
                report->kinds[k].error[model] = cursor_real(&rows, 4);
    }
    return cursor_close(&rows);
}

static int collect_ranks(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(
        &rows, database, report->path,
        "WITH sent AS (SELECT src AS rank, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY src), "
        "  received AS (SELECT dst AS rank, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY dst), "
        "  everyone AS (SELECT rank FROM process UNION SELECT rank FROM round_process) "
        "SELECT e.rank, coalesce(p.node, -1), coalesce(p.socket, -1), coalesce(p.core, -1), n.host, p.ended, "
        "  coalesce(s.n, 0), coalesce(s.bytes, 0), coalesce(r.n, 0), coalesce(r.bytes, 0), a.actual_s, "
        "  a.in_mpi_s, h.first_s, h.second_s, l.late_senders_s, l.late_receivers_s, p.wait_ns * 1e-9 "
        "FROM everyone e LEFT JOIN process p USING (rank) LEFT JOIN node n ON n.id = p.node "
        "  LEFT JOIN sent s USING (rank) LEFT JOIN received r USING (rank) LEFT JOIN rank_actual a USING (rank) "
        "  LEFT JOIN temp.replicate h USING (rank) LEFT JOIN rank_late l USING (rank) "
        "ORDER BY e.rank",
        error);
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
        if (report_rank_init(&rank, report->n_models) != 0 ||
            array_grow(&report->ranks, report->n_ranks, sizeof *report->ranks) != 0) {
            report_rank_release(&rank);
            cursor_no_memory(&rows);
            break;
        }
        report->ranks[report->n_ranks++] = rank;
        if (rank.late_senders_s > 0)
            report->late_senders_share += rank.late_senders_s / report->actual_s;
        if (rank.late_receivers_s > 0)
            report->late_receivers_share += rank.late_receivers_s / report->actual_s;
    }
    return cursor_close(&rows);
}

/* Fills the ranks' modelled times, and the models' coverage from them. */
static int collect_rank_models(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT machine, model, options, rank, actual_s, model_s, off_s FROM rank_error", error);
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
    return cursor_close(&rows);
}

int report_collect_rounds(struct report *report, sqlite3 *database, const struct report_choice *choice,
                          struct error *error)
{
    int result = collect_rounds(report, database, error);
    if (result == 0)
        result = collect_models(report, database, choice, error);
    if (result == 0)
        result = collect_kinds(report, database, error);
    if (result == 0)
        result = collect_ranks(report, database, error);
    if (result == 0)
        result = collect_rank_models(report, database, error);
    if (result == 0 && choice->details)
        result = report_collect_overlap(report, database, error);
    if (result == 0 && choice->details)
        result = report_collect_why(report, database, error);
    return result;
}

size_t report_best_model(const struct report *report)
{
    size_t best = report->n_models;
    for (size_t i = 0; i < report->n_models; i++)
        if (!isnan(report->models[i].error) &&
            (best == report->n_models || report->models[i].error < report->models[best].error))
            best = i;
    return best;
}

int report_collect(struct report *report, sqlite3 *database, const char *path, const struct report_choice *choice,
                   struct error *error)
{
    *report = (struct report){.path = path,
                              .replicate_error = NAN,
                              .replicate_basis = "",
                              .fine_grained = {.machine = ""},
                              .gpu = {.machine = ""}};
    progress_show("report: sums of rounds and messages");
    if (working_tables_make(database, path, error) != 0 || report_collect_run(report, database, error) != 0 ||
        report_collect_completeness(report, database, error) != 0)
        return -1;
    progress_show("report: models and ranks");
    if (report_collect_rounds(report, database, choice, error) != 0 ||
        report_collect_programs(report, database, error) != 0 ||
        (choice->details && (report_collect_sites(report, database, error) != 0 ||
                             report_collect_partitions(report, database, error) != 0)))
        return -1;
    if (choice->fine_grained) {
        progress_show("report: what parts would give");
        if (report_collect_fine_grained(report, database, choice, error) != 0)
            return -1;
    }
    if (choice->gpu && report_collect_gpu(report, database, choice, error) != 0)
        return -1;
    progress_show("report: the stored replay");
    int result = report_collect_replay(report, database, choice, error);
    if (result == 0) {
        progress_show("report: the time of ranks");
        result = report_collect_activity(report, database, error);
    }
    progress_show(NULL);
    return result;
}

void report_release(struct report *report)
{
    for (size_t i = 0; i < report->n_ranks; i++)
        report_rank_release(&report->ranks[i]);
    for (size_t i = 0; i < report->n_kinds; i++)
        free(report->kinds[i].error);
    free(report->programs);
    free(report->levels);
    free(report->losses);
    free(report->untracked);
    free(report->unmatched);
    free(report->doubts);
    free(report->rejected);
    free(report->unnamed);
    free(report->models);
    free(report->kinds);
    free(report->ranks);
    free(report->completeness.sums);
    free(report->waits);
    free(report->late);
    findings_release(&report->findings);
    pool_release(&report->pool);
    *report = (struct report){0};
}
