/* Collects the last replay of the whole run that is stored, with whom it blames. */
#include <math.h>

#include "predictor/run/run_efficiency.h"
#include "report/collect/report.h"

#define NAMED_PLACE                                                                                                    \
    "SELECT p.rank, p.function, c.place, p.time_s, "                                                                   \
    "p.all_s FROM ("
#define ORDERED ") p LEFT JOIN site c ON c.id = p.callsite WHERE p.time_s > 0 ORDER BY p.time_s DESC, p.rank, p.place"

const struct fields report_replay_fields =
    FIELDS(report_replay, FIELD(report_replay, machine), FIELD(report_replay, law), FIELD(report_replay, collectives),
           FIELD(report_replay, options), FIELD(report_replay, measured_s), FIELD(report_replay, predicted_s),
           FIELD(report_replay, mpi_error));

static void collect_head(struct report *report, const char *machine)
{
    struct cursor rows;
    struct report_replay *replay = &report->replay;
    report_query(
        report, &rows,
        "SELECT machine, law, collectives, options, measured_s, r.predicted_s, mpi_error, r.id, "
        "  count(*) OVER (), (SELECT total(coalesce(t.measured_s, t.predicted_s)) FROM replay_part t WHERE "
        "t.run_id = r.id AND "
        "  t.quantity IN ('computation', 'late_sender', 'late_receiver', 'transfer', 'collective_wait', "
        "  'collective_transfer', 'other')) "
        "FROM replay_run r WHERE coalesce(?1, machine) = machine AND EXISTS (SELECT 1 FROM replay_place p WHERE "
        "  p.run_id = r.id) ORDER BY r.id DESC LIMIT 1");
    cursor_bind(&rows, "t", machine);
    if (cursor_next(&rows)) {
        int column = fields_read(&report_replay_fields, replay, &rows, 0, &report->pool);
        replay->id = cursor_integer(&rows, column);
        replay->stored = cursor_integer(&rows, column + 1);
        replay->ranks_s = cursor_real(&rows, column + 2);
    }
    report_query_end(report, &rows);
}

/* Opens a query of the replay, whose id is its ?1. */
static void open_of_replay(struct cursor *rows, struct report *report, const char *sql)
{
    report_query(report, rows, sql);
    cursor_bind(rows, "i", report->replay.id);
}

const struct fields report_replay_place_fields =
    FIELDS(report_replay_place, FIELD(report_replay_place, rank), FIELD(report_replay_place, function),
           FIELD(report_replay_place, place), FIELD(report_replay_place, time_s), FIELD(report_replay_place, share));

/* whole_s: the time of which the places' times are shares; NaN: the sum of all. */
static void collect_places(struct report *report, const char *sql, size_t most, double whole_s,
                           struct report_replay_places *places)
{
    struct cursor rows;
    open_of_replay(&rows, report, sql);
    while (places->n < most && cursor_next(&rows)) {
        struct report_replay_place *place = &places->rows[places->n++];
        fields_read(&report_replay_place_fields, place, &rows, 0, &report->pool);
        places->all_s = cursor_real(&rows, 4);
        place->share = place->time_s / (isnan(whole_s) ? places->all_s : whole_s);
    }
    report_query_end(report, &rows);
}

const struct fields report_replay_part_fields =
    FIELDS(report_replay_part, FIELD_AS("quantity", report_replay_part, name), FIELD(report_replay_part, measured_s),
           FIELD(report_replay_part, predicted_s));

static void collect_replay_parts(struct report *report)
{
    struct cursor rows;
    struct report_replay *replay = &report->replay;
    open_of_replay(&rows, report,
                   "WITH told(quantity, at) AS (VALUES ('computation', 0), ('late_sender', 1), ('late_receiver', 2), "
                   "  ('transfer', 3), ('latency', 4), ('bandwidth', 5), ('contention', 6), ('queue', 7), "
                   "  ('progress', 8), ('collective_wait', 9), ('collective_transfer', 10), ('other', 11), "
                   "  ('not_recorded', 12)) "
                   "SELECT quantity, sum(measured_s), total(predicted_s) FROM replay_part JOIN told USING (quantity) "
                   "WHERE run_id = ?1 GROUP BY quantity ORDER BY at");
    while (replay->n_parts < REPORT_PARTS && cursor_next(&rows))
        fields_read(&report_replay_part_fields, &replay->parts[replay->n_parts++], &rows, 0, &report->pool);
    report_query_end(report, &rows);
}

const struct fields report_replay_efficiency_fields = FIELDS(
    report_replay_efficiency, FIELD_AS("efficiency", report_replay_efficiency, name),
    FIELD(report_replay_efficiency, measured), FIELD(report_replay_efficiency, predicted),
    FIELD_OR_NULL(report_replay_efficiency, measured_bound), FIELD_OR_NULL(report_replay_efficiency, predicted_bound));

/* Returns the efficiency; NaN for what cannot be one, as earlier versions stored it of traces that are not whole. */
static double efficiency_of(const struct report *report, double value)
{
    return report->whole.times_known && value >= 0 && value <= 1 ? value : NAN;
}

/* Returns whether an efficiency is a bound, with communication and the ideal run from that column on. */
static const char *bound_of(struct cursor *rows, int column)
{
    int bound = run_efficiency_bound((enum run_efficiency)cursor_integer(rows, 3), cursor_real(rows, column),
                                     cursor_real(rows, column + 1));
    return bound < 0 ? "at most" : bound > 0 ? "at least" : "";
}

static void collect_efficiencies(struct report *report)
{
    const struct fields stored =
        FIELDS(report_replay_efficiency, FIELD_AS("efficiency", report_replay_efficiency, name),
               FIELD(report_replay_efficiency, measured), FIELD(report_replay_efficiency, predicted));
    struct cursor rows;
    struct report_replay *replay = &report->replay;
    open_of_replay(&rows, report,
                   "WITH told(efficiency, at) AS (VALUES ('parallel', 0), ('load_balance', 1), ('communication', 2), "
                   "  ('serialisation', 3), ('transfer', 4)) "
                   "SELECT e.efficiency, e.measured, e.predicted, at, c.measured, i.measured, c.predicted, i.predicted "
                   "FROM replay_efficiency e JOIN told USING (efficiency) "
                   "LEFT JOIN replay_efficiency c ON c.run_id = e.run_id AND c.efficiency = 'communication' "
                   "LEFT JOIN replay_efficiency i ON i.run_id = e.run_id AND i.efficiency = 'ideal' "
                   "WHERE e.run_id = ?1 ORDER BY at");
    while (replay->n_efficiencies < REPORT_EFFICIENCIES && cursor_next(&rows)) {
        struct report_replay_efficiency *efficiency = &replay->efficiencies[replay->n_efficiencies++];
        fields_read(&stored, efficiency, &rows, 0, &report->pool);
        efficiency->measured_bound = bound_of(&rows, 4);
        efficiency->predicted_bound = bound_of(&rows, 6);
        efficiency->measured = efficiency_of(report, efficiency->measured);
        efficiency->predicted = efficiency_of(report, efficiency->predicted);
    }
    report_query_end(report, &rows);
}

static void collect_replay_ranks(struct report *report)
{
    const struct fields in_run = FIELDS(report_rank, FIELD(report_rank, run_in_mpi_s),
                                        FIELD(report_rank, run_in_mpi_predicted_s), FIELD(report_rank, blamed_s));
    struct cursor rows;
    open_of_replay(&rows, report,
                   "WITH inside AS (SELECT p.rank, sum(t.measured_s) AS measured_s, sum(t.predicted_s) AS predicted_s "
                   "  FROM replay_part t JOIN replay_place p USING (run_id, place) WHERE t.run_id = ?1 AND t.quantity "
                   "  IN ('late_sender', 'late_receiver', 'transfer', 'collective_wait', 'collective_transfer', "
                   "  'other') GROUP BY p.rank) "
                   "SELECT rank, i.measured_s, i.predicted_s, sum(p.blamed_s) FROM replay_place p LEFT JOIN inside i "
                   "  USING (rank) WHERE p.run_id = ?1 GROUP BY rank");
    while (cursor_next(&rows)) {
        struct report_rank *rank = report_find_rank(report, cursor_integer(&rows, 0));
        if (rank != NULL)
            fields_read(&in_run, rank, &rows, 1, &report->pool);
    }
    report_query_end(report, &rows);
}

void report_collect_replay(struct report *report, const char *machine)
{
    struct report_replay *replay = &report->replay;
    static const char blamed[] = NAMED_PLACE "SELECT *, blamed_s AS time_s, sum(blamed_s) OVER () AS all_s "
                                             "FROM replay_place WHERE run_id = ?1" ORDERED;
    static const char critical[] = NAMED_PLACE "SELECT *, critical_s AS time_s, sum(critical_s) OVER () AS all_s "
                                               "FROM replay_place WHERE run_id = ?1" ORDERED;
    static const char slower[] = NAMED_PLACE
        "SELECT p.*, sum(t.measured_s - t.predicted_s) AS time_s, sum(sum(t.measured_s - t.predicted_s)) OVER () "
        "AS all_s FROM replay_place p JOIN replay_part t USING (run_id, place) WHERE p.run_id = ?1 AND t.quantity "
        "IN ('transfer', 'collective_transfer') GROUP BY p.place" ORDERED;
    replay->id = -1;
    for (size_t i = 0; i < report->n_ranks; i++)
        report->ranks[i].run_in_mpi_s = report->ranks[i].run_in_mpi_predicted_s = report->ranks[i].blamed_s = NAN;
    collect_head(report, machine);
    if (replay->id < 0)
        return;
    collect_places(report, blamed, REPORT_BLAMED, NAN, &replay->blamed);
    collect_places(report, critical, REPORT_CRITICAL, replay->predicted_s, &replay->critical);
    collect_places(report, slower, REPORT_SLOWER, replay->ranks_s, &replay->slower);
    collect_replay_parts(report);
    collect_efficiencies(report);
    collect_replay_ranks(report);
}
