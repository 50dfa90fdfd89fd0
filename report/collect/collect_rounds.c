/* Collects rounds, kinds, models and ranks: measured against modelled time, what of it stays visible in MPI where ranks
 * compute between post and wait, and why ranks take their time. The sums are those of the views in schema.sql. Papers
 * are named as in share/doc/MODELS.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/sums/concurrent_rounds.h"
#include "predictor/models/model.h"
#include "predictor/run/laws/run_choice.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/nearest.h"

#define LONGEST_WAITS "10"
/* The options of a law's run, as the view rank_error has them; q: replay_run. */
#define LAW_OPTIONS "trim(iif(q.collectives = 'modelled', 'collectives modelled ', '') || q.options)"

const struct fields report_rank_model_fields =
    FIELDS(report_rank_model, FIELD(report_rank_model, actual_s), FIELD(report_rank_model, model_s),
           FIELD(report_rank_model, off_s));
const struct fields report_rank_part_fields =
    FIELDS(report_rank_model, REPORT_PART_FIELDS, FIELD_OR_NULL(report_rank_model, mostly),
           FIELD(report_rank_model, extrapolated), FIELD(report_rank_model, low_s), FIELD(report_rank_model, high_s));
const struct fields report_rank_visible_fields =
    FIELDS(report_rank_model, FIELD(report_rank_model, outside_s), FIELD(report_rank_model, in_mpi_s),
           FIELD(report_rank_model, visible_s), FIELD(report_rank_model, visible_off_s));

/* Returns what the model of the columns machine, model, options says of the rank of the column behind; NULL for one
 * that is not wanted. */
static struct report_rank_model *find_rank_model(struct report *report, struct cursor *rows)
{
    size_t model = report_find_model(report, rows, 0);
    struct report_rank *rank = report_find_rank(report, cursor_integer(rows, 3));
    return model == report->n_models || rank == NULL ? NULL : &rank->models[model];
}

/* Fills these members of what models say of ranks, by a query for machine, model, options, rank and the members. */
static void read_rank_models(struct report *report, const char *sql, const struct fields *fields)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    while (cursor_next(&rows)) {
        struct report_rank_model *model = find_rank_model(report, &rows);
        if (model != NULL)
            fields_read(fields, model, &rows, 4, &report->pool);
    }
    report_query_end(report, &rows);
}

/* Fills the parts: of the laws posts count as latency, waiting for the other rank as skew. */
static void collect_parts(struct report *report)
{
    read_rank_models(
        report,
        "SELECT machine, model, trim('rounds ' || options), rank, latency_s, bandwidth_s, contention_s, queue_s, "
        "link_s, skew_s, mostly, extrapolated, low_s, high_s FROM rank_part",
        &report_rank_part_fields);
    read_rank_models(
        report,
        "WITH law AS (SELECT run_id, rank, sum(latency_s + post_s) AS latency, sum(bandwidth_s) AS bandwidth, "
        "    sum(contention_s) AS contention, sum(queue_s) AS queue, "
        "    sum(late_sender_s + late_receiver_s + progress_s) AS skew FROM message_time GROUP BY run_id, rank) "
        "SELECT q.machine, q.law, " LAW_OPTIONS ", rank, latency, bandwidth, contention, queue, 0.0, skew, "
        "  CASE max(latency, bandwidth, contention, queue, skew) WHEN 0 THEN NULL WHEN bandwidth THEN "
        "    'bandwidth' WHEN contention THEN 'contention' WHEN latency THEN 'latency' WHEN queue THEN 'queue' "
        "    ELSE 'skew' END, 0, NULL, NULL FROM replay_run q JOIN law ON run_id = q.id",
        &report_rank_part_fields);
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

const struct fields report_partner_fields =
    FIELDS(report_partner, FIELD_AS("partner", report_partner, rank), FIELD(report_partner, direction),
           FIELD(report_partner, level), FIELD(report_partner, messages), FIELD(report_partner, bytes),
           FIELD(report_partner, alone_s), FIELD(report_partner, share));

/* This is the view partner_cost for some ranks only, ?2 as a JSON array: the sums over all pairs of a large run would
 * take longer than all else. */
static const char partners_sql[] =
    "WITH worst(rank) AS (SELECT value FROM json_each(?2)), "
    "  sample AS (SELECT min(id) AS round_id, count(*) AS rounds FROM round GROUP BY kind_id), "
    "  rate AS MATERIALIZED (SELECT * FROM single_rate WHERE machine = ?1), "
    "  picked AS MATERIALIZED ("
    "    SELECT src, dst, (SELECT level FROM form f WHERE f.id = m.form) AS place, bytes, s.rounds "
    "    FROM sample s CROSS JOIN round_place p ON p.round_id = s.round_id CROSS JOIN message_row m "
    "      ON m.round_id = p.round_id AND m.id BETWEEN p.first_message AND p.last_message "
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
    cursor_bind(&rows, "tt", machine, list);
    while (cursor_next(&rows))
        for (size_t i = 0; i < report->n_worst; i++) {
            struct report_worst *worst = &report->worst[i];
            if (worst->rank->rank == cursor_integer(&rows, 0) && worst->n_partners < REPORT_PARTNERS)
                fields_read(&report_partner_fields, &worst->partners[worst->n_partners++], &rows, 1, &report->pool);
        }
    report_query_end(report, &rows);
}

const struct fields report_wait_fields =
    FIELDS(report_wait, FIELD(report_wait, kind), FIELD(report_wait, rounds), FIELD(report_wait, ranks),
           FIELD(report_wait, wait_s), FIELD(report_wait, mean_s), FIELD(report_wait, longest_s),
           FIELD(report_wait, share), FIELD(report_wait, last_rank), FIELD(report_wait, last_rounds));
const struct fields report_late_fields =
    FIELDS(report_late, FIELD(report_late, rank), FIELD(report_late, partner), FIELD(report_late, cause),
           FIELD(report_late, function), FIELD(report_late, place), FIELD(report_late, messages),
           FIELD(report_late, late_s), FIELD(report_late, longest_s));

static void collect_waits(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT kind_id, rounds, ranks, wait_s, mean_s, longest_s, share, last_rank, last_rounds, "
                 "sum(wait_s) OVER () FROM kind_wait ORDER BY wait_s DESC, kind_id LIMIT " LONGEST_WAITS);
    while (cursor_next(&rows)) {
        array_grow(&report->waits, report->n_waits, sizeof *report->waits);
        int column = fields_read(&report_wait_fields, &report->waits[report->n_waits++], &rows, 0, &report->pool);
        report->wait_s = cursor_real(&rows, column);
    }
    report_query_end(report, &rows);
    report_read_rows(report,
                     "SELECT rank, partner, cause, function, coalesce(c.place, '?'), messages, late_s, longest_s "
                     "FROM late_partner l LEFT JOIN site c ON c.id = l.callsite "
                     "ORDER BY late_s DESC, cause, rank, partner, function, l.callsite LIMIT " LONGEST_WAITS,
                     &report_late_fields, &report->late, &report->n_late);
}

const struct fields report_site_error_fields =
    FIELDS(report_site_error, FIELD(report_site_error, function), FIELD(report_site_error, place),
           FIELD(report_site_error, actual_s), FIELD(report_site_error, model_s), FIELD(report_site_error, off_s));

#define PART_ERROR_FIELDS                                                                                              \
    FIELD(report_part_error, actual_s), FIELD(report_part_error, model_s), FIELD(report_part_error, off_s),            \
        FIELD(report_part_error, error), FIELD(report_part_error, bias), FIELD(report_part_error, worst_rank)
const struct fields report_window_error_fields =
    FIELDS(report_part_error, FIELD(report_part_error, begin_s), FIELD(report_part_error, end_s), PART_ERROR_FIELDS);
const struct fields report_region_error_fields =
    FIELDS(report_part_error, FIELD(report_part_error, path), FIELD(report_part_error, scope), PART_ERROR_FIELDS);

/* Reads what a query says of the best law. */
static void read_part_errors(struct report *report, const char *sql, const struct fields *fields,
                             struct report_part_error **parts, size_t *n)
{
    const struct report_model *model = &report->models[report_best_model(report)];
    struct cursor rows;
    report_query(report, &rows, sql);
    cursor_bind(&rows, "ttt", model->machine, model->model, model->options);
    while (cursor_next(&rows)) {
        struct report_part_error part = {.path = "", .scope = "", .begin_s = NAN, .end_s = NAN};
        fields_read(fields, &part, &rows, 0, &report->pool);
        ARRAY_ADD(*parts, *n, part);
    }
    report_query_end(report, &rows);
}

static bool has_regions(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows, "SELECT 1 FROM site_region LIMIT 1");
    bool found = cursor_next(&rows);
    report_query_end(report, &rows);
    return found;
}

/* Finds how far the best law is off over the run, and in regions. */
static void collect_part_errors(struct report *report)
{
    size_t best = report_best_model(report);
    if (best == report->n_models || report->models[best].rounds)
        return;
    read_part_errors(report,
                     "SELECT begin_s, end_s, actual_s, model_s, off_s, error, bias, worst_rank FROM window_error "
                     "WHERE machine = ?1 AND model = ?2 AND options = ?3 ORDER BY number",
                     &report_window_error_fields, &report->window_errors, &report->n_window_errors);
    if (has_regions(report))
        read_part_errors(report,
                         "SELECT path, scope, actual_s, model_s, off_s, error, bias, worst_rank FROM region_error "
                         "WHERE machine = ?1 AND model = ?2 AND options = ?3 "
                         "ORDER BY scope = 'outside', path, region, scope DESC",
                         &report_region_error_fields, &report->region_errors, &report->n_region_errors);
}

size_t report_worst_part(const struct report_part_error *parts, size_t n)
{
    size_t worst = n;
    double all_s = 0;
    for (size_t i = 0; i < n; i++)
        all_s += strcmp(parts[i].scope, "inclusive") != 0 ? parts[i].actual_s : 0; /* the others add up to the run */
    for (size_t i = 0; i < n; i++)
        if (strcmp(parts[i].scope, "exclusive") != 0 && parts[i].actual_s >= REPORT_ERROR_SHARE * all_s &&
            parts[i].error > (worst < n ? parts[worst].error : 0))
            worst = i;
    return worst;
}

/* Finds the call sites at which the best law is furthest off. */
static void collect_site_errors(struct report *report)
{
    struct cursor rows;
    size_t best = report_best_model(report);
    if (best == report->n_models || report->models[best].rounds)
        return;
    const struct report_model *model = &report->models[best];
    report_query(report, &rows,
                 "SELECT function, coalesce(c.place, '?'), actual_s, model_s, off_s "
                 "FROM site_error e LEFT JOIN site c ON c.id = e.callsite "
                 "WHERE machine = ?1 AND model = ?2 AND options = ?3 ORDER BY off_s DESC, function, e.callsite");
    cursor_bind(&rows, "ttt", model->machine, model->model, model->options);
    while (report->n_site_errors < REPORT_SITE_ERRORS && cursor_next(&rows))
        fields_read(&report_site_error_fields, &report->site_errors[report->n_site_errors++], &rows, 0, &report->pool);
    report_query_end(report, &rows);
}

static void collect_why(struct report *report)
{
    find_worst(report);
    collect_waits(report);
    collect_parts(report);
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
        const struct report_rank_model *rank = &report->ranks[i].models[model];
        if (isnan(rank->in_mpi_s) || isnan(rank->visible_s))
            continue;
        inside_s += rank->in_mpi_s;
        off_s += rank->visible_off_s;
        over_s += rank->visible_s - rank->in_mpi_s;
    }
    report->models[model].visible_error = inside_s > 0 ? off_s / inside_s : NAN;
    report->models[model].visible_bias = inside_s > 0 ? over_s / inside_s : NAN;
}

static void collect_overlap(struct report *report)
{
    find_outside(report);
    /* This is the view rank_visible without its sum of the modelled time, which is known. */
    read_rank_models(report,
                     "SELECT q.machine, q.model, trim('rounds ' || q.options), m.rank, sum(m.rounds * m.outside_s), "
                     "  sum(m.rounds * m.in_mpi_s), sum(m.rounds * max(p.time_s - m.outside_s, 0)), "
                     "  sum(m.rounds * abs(m.in_mpi_s - max(p.time_s - m.outside_s, 0))) "
                     "FROM prediction_run q JOIN prediction p ON p.run_id = q.id "
                     "  JOIN kind_in_mpi m ON m.kind_id = p.kind_id AND m.rank = p.rank GROUP BY q.id, m.rank",
                     &report_rank_visible_fields);
    for (size_t model = 0; model < report->n_models; model++)
        sum_errors(report, model);
}

static void collect_rounds(struct report *report)
{
    const struct fields rounds =
        FIELDS(report, FIELD(report, rounds), FIELD(report, all_kinds), FIELD(report, actual_s),
               FIELD(report, repeated_share), FIELD(report, round_messages));
    const struct fields families = FIELDS(report, FIELD(report, families), FIELD(report, family_share));
    report_read_row(
        report,
        "SELECT (SELECT count(*) FROM round), (SELECT count(*) FROM kind), coalesce(sum(rounds * actual_s), 0), "
        "sum(CASE WHEN rounds >= 3 THEN rounds * actual_s ELSE 0 END) / nullif(sum(rounds * actual_s), 0), "
        "(SELECT total(1.0 * rounds * messages) FROM kind) FROM kind_actual",
        &rounds, report);
    report_read_row(
        report,
        "SELECT count(*), sum(CASE WHEN rounds >= 3 THEN time_s ELSE 0 END) / nullif(sum(time_s), 0) FROM family",
        &families, report);
    report->concurrent_share = NAN;
    if (report->result == 0 && !report->shards.by_sums)
        report->result =
            concurrent_rounds_share(report->database, report->path, &report->concurrent_share, report->error);
}

/* Reads the replicate error: of the laws where there are any, else of rounds. */
static void collect_replicate(struct report *report)
{
    const struct fields replicate =
        FIELDS(report, FIELD(report, replicate_error), FIELD(report, replicate_share), FIELD(report, replicate_basis));
    size_t best = report_best_model(report);
    bool laws = best < report->n_models && !report->models[best].rounds;
    /* The second is the view round_replicate_error. */
    report_read_row(
        report,
        laws ? "SELECT error, share, basis FROM replicate_error"
             : "SELECT sum(off_s) / nullif(sum(first_s + second_s) / 2, 0), "
               "  (SELECT sum(rounds * actual_s) FROM kind_actual WHERE kind_id IN (SELECT kind_id FROM temp.halves)) "
               "    / nullif((SELECT sum(actual_s) FROM rank_actual), 0), 'halves of one launch' FROM temp.replicate",
        &replicate, report);
}

const struct fields report_model_fields =
    FIELDS(report_model, FIELD(report_model, machine), FIELD(report_model, model), FIELD(report_model, options));

const struct fields report_model_values =
    FIELDS(report_model, FIELD(report_model, machine), FIELD(report_model, model), FIELD(report_model, options),
           FIELD(report_model, rounds), FIELD(report_model, error), FIELD_AS("error_withheld", report_model, withheld),
           FIELD(report_model, mape), FIELD(report_model, bias), FIELD_OR_NULL(report_model, worst_rank),
           FIELD(report_model, worst_actual_s), FIELD(report_model, worst_model_s), FIELD(report_model, coverage),
           FIELD(report_model, extrapolated), FIELD(report_model, judgement));

/* Adds the models of a query, whose ?1 is order, that are wanted. */
static void add_models(struct report *report, const char *sql, const char *order, bool rounds,
                       const struct report_choice *choice, struct nearest *nearest)
{
    const struct fields columns =
        FIELDS(report_model, FIELD(report_model, machine), FIELD(report_model, model), FIELD(report_model, options),
               FIELD(report_model, title), FIELD(report_model, extrapolated), FIELD(report_model, error),
               FIELD(report_model, mape), FIELD(report_model, bias), FIELD(report_model, worst_rank),
               FIELD(report_model, worst_actual_s), FIELD(report_model, worst_model_s));
    struct cursor rows;
    report_query(report, &rows, sql);
    cursor_bind(&rows, "t", order);
    while (cursor_next(&rows)) {
        struct report_model model = {.visible_error = NAN,
                                     .visible_bias = NAN,
                                     .rounds = rounds,
                                     .withheld = rounds && report->concurrent_share > CONCURRENT_LIMIT,
                                     .coverage = rounds ? 0 : 1};
        fields_read(&columns, &model, &rows, 0, &report->pool);
        model.judgement =
            model.withheld ? "" : judgement_of(model.error, rounds ? report->round_messages : report->messages);
        nearest_add(nearest, choice->model != NULL ? model.model : model.machine);
        if ((choice->machine != NULL && strcmp(choice->machine, model.machine) != 0) ||
            (choice->model != NULL && strcmp(choice->model, model.model) != 0))
            continue;
        ARRAY_ADD(report->models, report->n_models, model);
    }
    report_query_end(report, &rows);
}

/* Those of equal errors come in the order of the table ?1, as predict has them. */
static const char laws_sql[] =
    "SELECT machine, model, options, trim(model || ' ' || options), 0, error, mape, bias, worst_rank, "
    "  worst_actual_s, worst_model_s FROM model_error ORDER BY machine, error IS NULL, "
    "  round(error, 9), instr(?1, ',' || substr(model, 1, instr(model || '+', '+') - 1) || ','), model, options";

static void collect_models(struct report *report, const struct report_choice *choice)
{
    const char *wanted = choice->model != NULL ? choice->model : choice->machine;
    struct nearest nearest = nearest_to(wanted != NULL ? wanted : "");
    static const char rounds_sql[] =
        "SELECT e.machine, e.model, trim('rounds ' || e.options), trim(e.model || ' ' || e.options) || ', rounds', "
        "  q.extrapolated, e.error, e.mape, e.bias, e.worst_rank, NULL, NULL "
        "FROM round_model_error e JOIN prediction_run q USING (machine, model, options) "
        "ORDER BY e.machine, e.error IS NULL, e.error, e.model, e.options";
    char laws[512] = ",";
    for (size_t law = 0, used = 1; law < LAW_COUNT && used < sizeof laws; law++)
        used += (size_t)snprintf(laws + used, sizeof laws - used, "%s,", run_law_table[law].name);
    add_models(report, laws_sql, laws, false, choice, &nearest);
    add_models(report, rounds_sql, NULL, true, choice, &nearest);
    if (report->result != 0 || report->n_models > 0 || wanted == NULL)
        return;
    const char *hint = nearest_hint(&nearest);
    report->result = error_set(
        report->error, "%s: holds no prediction of %s %s%s 'mpistair query %s model_error' lists those there",
        report->path, choice->model != NULL ? "model" : "machine", wanted, hint[0] != '\0' ? hint : ";", report->path);
}

const struct fields report_kind_fields =
    FIELDS(report_kind, FIELD(report_kind, kind), FIELD(report_kind, rounds), FIELD(report_kind, messages),
           FIELD(report_kind, max_messages), FIELD(report_kind, bytes), FIELD(report_kind, intra_socket),
           FIELD(report_kind, inter_socket), FIELD(report_kind, inter_node), FIELD(report_kind, time_s),
           FIELD(report_kind, time_share));

static void collect_kinds(struct report *report)
{
    struct cursor rows;
    report_read_rows(
        report,
        "SELECT kind_id, rounds, messages, coalesce(max_messages, 0), bytes, 1.0 * intra_socket_bytes / "
        "nullif(bytes, 0), 1.0 * inter_socket_bytes / nullif(bytes, 0), 1.0 * inter_node_bytes / nullif(bytes, "
        "0), time_s FROM temp.heaviest_kind ORDER BY time_s DESC, kind_id",
        &report_kind_fields, &report->kinds, &report->n_kinds);
    for (size_t i = 0; i < report->n_kinds; i++) {
        struct report_kind *kind = &report->kinds[i];
        kind->time_share = kind->time_s / report->actual_s;
        kind->error = xcalloc(report->n_models, sizeof *kind->error);
        for (size_t model = 0; model < report->n_models; model++)
            kind->error[model] = NAN;
    }
    report_query(report, &rows,
                 "SELECT machine, model, trim('rounds ' || options), kind_id, error FROM kind_error WHERE kind_id IN "
                 "(SELECT kind_id FROM temp.heaviest_kind)");
    while (cursor_next(&rows)) {
        size_t model = report_find_model(report, &rows, 0);
        for (size_t k = 0; k < report->n_kinds && model < report->n_models; k++)
            if (report->kinds[k].kind == cursor_integer(&rows, 3))
                report->kinds[k].error[model] = cursor_real(&rows, 4);
    }
    report_query_end(report, &rows);
}

const struct fields report_rank_fields =
    FIELDS(report_rank, FIELD(report_rank, rank), FIELD_OR_NULL(report_rank, node), FIELD(report_rank, host),
           FIELD_OR_NULL(report_rank, socket), FIELD_OR_NULL(report_rank, core), FIELD(report_rank, ended),
           FIELD(report_rank, sent_messages), FIELD(report_rank, sent_bytes), FIELD(report_rank, received_messages),
           FIELD(report_rank, received_bytes), FIELD(report_rank, actual_s), FIELD(report_rank, in_mpi_s),
           FIELD(report_rank, late_senders_s), FIELD(report_rank, late_receivers_s), FIELD(report_rank, first_half_s),
           FIELD(report_rank, second_half_s));

static void collect_round_ranks(struct report *report)
{
    struct cursor rows;
    char *sql = xasprintf(
        "WITH sent AS (SELECT src AS rank, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY src), "
        "  received AS (SELECT dst AS rank, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY dst), "
        "  everyone AS (SELECT rank FROM process UNION SELECT rank FROM %s) "
        "SELECT e.rank, coalesce(p.node, -1), n.host, coalesce(p.socket, -1), coalesce(p.core, -1), p.ended, "
        "  coalesce(s.n, 0), coalesce(s.bytes, 0), coalesce(r.n, 0), coalesce(r.bytes, 0), a.actual_s, "
        "  a.in_mpi_s, l.late_senders_s, l.late_receivers_s, h.first_s, h.second_s, p.wait_ns * 1e-9 "
        "FROM everyone e LEFT JOIN process p USING (rank) LEFT JOIN node n ON n.id = p.node "
        "  LEFT JOIN sent s USING (rank) LEFT JOIN received r USING (rank) LEFT JOIN rank_actual a USING (rank) "
        "  LEFT JOIN temp.replicate h USING (rank) LEFT JOIN %s l USING (rank) "
        "ORDER BY e.rank",
        report->shards.by_sums ? "kind_sum" : "round_process",
        report->shards.by_sums ? "(SELECT rank, sum(1.0 * late_senders_ns) * 1e-9 AS late_senders_s, "
                                 "sum(1.0 * late_receivers_ns) * 1e-9 AS late_receivers_s FROM kind_sum GROUP BY rank)"
                               : "rank_late");
    report_query(report, &rows, sql);
    free(sql);
    while (cursor_next(&rows)) {
        struct report_rank rank = {0};
        int column = fields_read(&report_rank_fields, &rank, &rows, 0, &report->pool);
        rank.waited_s = cursor_real(&rows, column);
        rank.models = xcalloc(report->n_models, sizeof *rank.models);
        for (size_t i = 0; i < report->n_models; i++)
            rank.models[i] = (struct report_rank_model)REPORT_RANK_MODEL_UNKNOWN;
        ARRAY_ADD(report->ranks, report->n_ranks, rank);
        if (rank.late_senders_s > 0)
            report->late_senders_share += rank.late_senders_s / report->actual_s;
        if (rank.late_receivers_s > 0)
            report->late_receivers_share += rank.late_receivers_s / report->actual_s;
    }
    report_query_end(report, &rows);
}

/* Fills the ranks' modelled times, and the coverage of models of rounds from them. */
static void add_rank_models(struct report *report, const char *sql)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    while (cursor_next(&rows)) {
        size_t at = report_find_model(report, &rows, 0);
        struct report_rank_model *model = find_rank_model(report, &rows);
        if (model == NULL)
            continue;
        fields_read(&report_rank_model_fields, model, &rows, 4, &report->pool);
        model->error = model->actual_s > 0 ? model->off_s / model->actual_s : NAN;
        if (!report->models[at].rounds)
            continue;
        report->models[at].coverage += model->actual_s / report->actual_s;
        if (cursor_integer(&rows, 3) == report->models[at].worst_rank) {
            report->models[at].worst_actual_s = model->actual_s;
            report->models[at].worst_model_s = model->model_s;
        }
    }
    report_query_end(report, &rows);
}

static void collect_rank_models(struct report *report)
{
    add_rank_models(report, "SELECT machine, model, options, rank, actual_s, model_s, off_s FROM rank_error");
    add_rank_models(report, "SELECT machine, model, trim('rounds ' || options), rank, actual_s, model_s, off_s "
                            "FROM round_rank_error");
}

void report_collect_rounds(struct report *report, const struct report_choice *choice)
{
    collect_rounds(report);
    collect_models(report, choice);
    collect_replicate(report);
    collect_kinds(report);
    collect_round_ranks(report);
    collect_rank_models(report);
    collect_part_errors(report);
    if (!choice->details)
        return;
    collect_overlap(report);
    collect_site_errors(report);
    collect_why(report);
}
