/* Collects the run, its traffic by level, how complete the recording is - each loss by its cause, and on which ranks -
 * and which programs ran on which ranks. */
#include <math.h>
#include <string.h>

#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/ranges.h"
#include "share/base/saturating.h"

static void collect_run(struct report *report)
{
    struct cursor rows;
    report_query(
        report, &rows,
        "SELECT run_key, mpistair_version, mpi_family, mpi_library, thread_level, command, started_unix_ns, "
        "world_size, spools, duration_ns * 1e-9, (SELECT count(*) FROM node), coalesce(eager_limit_bytes, -1), "
        "coalesce(eager_limit_network_bytes, -1), own_cost_ns, started_by, "
        "(SELECT max(launched) FROM process) FROM run");
    if (cursor_next(&rows)) {
        struct pool *pool = &report->pool;
        report->run = (struct report_run){
            .run_key = cursor_text(&rows, 0, pool),
            .version = cursor_text(&rows, 1, pool),
            .mpi_family = cursor_text(&rows, 2, pool),
            .mpi_library = cursor_text(&rows, 3, pool),
            .thread_level = cursor_text(&rows, 4, pool),
            .command = cursor_text(&rows, 5, pool),
            .started_unix_ns = cursor_integer(&rows, 6),
            .world_size = cursor_integer(&rows, 7),
            .spools = cursor_integer(&rows, 8),
            .duration_s = cursor_real(&rows, 9),
            .eager_limit_bytes = cursor_integer(&rows, 11),
            .eager_limit_network_bytes = cursor_integer(&rows, 12),
            .own_cost_ns = cursor_real(&rows, 13),
            .started_by = cursor_text(&rows, 14, pool),
            .launched = cursor_integer(&rows, 15),
        };
        report->nodes = cursor_integer(&rows, 10);
    }
    report_query_end(report, &rows);
}

static void collect_waited(struct report *report)
{
    struct cursor rows;
    report->waited = (struct report_waited){.wait_share = NAN, .run_share = NAN, .observed_s = NAN, .worst_rank = -1};
    report_query(report, &rows,
                 "SELECT rank, wait_share, run_share, involuntary_switches, observed_s FROM processor_share "
                 "WHERE wait_share IS NOT NULL ORDER BY wait_share DESC, rank");
    while (cursor_next(&rows)) {
        double share = cursor_real(&rows, 1);
        if (report->waited.worst_rank < 0)
            report->waited = (struct report_waited){.worst_rank = cursor_integer(&rows, 0),
                                                    .wait_share = share,
                                                    .run_share = cursor_real(&rows, 2),
                                                    .switches = cursor_integer(&rows, 3),
                                                    .observed_s = cursor_real(&rows, 4)};
        report->waited.ranks += share >= REPORT_WAITED;
    }
    report_query_end(report, &rows);
}

static void collect_totals(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT coalesce(sum(n), 0), coalesce(max(n), 0), coalesce(sum(bytes), 0) "
                 "FROM (SELECT sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY dst)");
    if (cursor_next(&rows)) {
        report->messages = cursor_integer(&rows, 0);
        report->max_messages = cursor_integer(&rows, 1);
        report->bytes = cursor_integer(&rows, 2);
    }
    report_query_end(report, &rows);
}

static void collect_levels(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT coalesce(level, 'unknown'), sum(n), max(n), sum(bytes), "
                 "  1.0 * sum(bytes) / nullif((SELECT sum(bytes) FROM temp.pair), 0) "
                 "FROM (SELECT level, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY level, dst) "
                 "GROUP BY level "
                 "ORDER BY CASE level WHEN 'self' THEN 0 WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 "
                 "  WHEN 'inter_node' THEN 3 ELSE 4 END, level");
    while (cursor_next(&rows)) {
        array_grow(&report->levels, report->n_levels, sizeof *report->levels);
        report->levels[report->n_levels++] = (struct report_level){
            .level = cursor_text(&rows, 0, &report->pool),
            .messages = cursor_integer(&rows, 1),
            .max_messages = cursor_integer(&rows, 2),
            .bytes = cursor_integer(&rows, 3),
            .share = cursor_real(&rows, 4),
        };
    }
    report_query_end(report, &rows);
}

static void collect_verdict(struct report *report)
{
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT posted, matched, unmatched, lost, untracked, uncertain, missing_processes, verdict, left_out, "
                 "(SELECT count(*) FROM communicator WHERE known = 0), "
                 "(SELECT coalesce(sum(idle_calls), 0) FROM call_row) FROM completeness");
    if (cursor_next(&rows))
        report->completeness = (struct report_completeness){
            .posted = cursor_integer(&rows, 0),
            .matched = cursor_integer(&rows, 1),
            .unmatched = cursor_integer(&rows, 2),
            .lost = cursor_integer(&rows, 3),
            .untracked = cursor_integer(&rows, 4),
            .uncertain = cursor_integer(&rows, 5),
            .missing_processes = cursor_integer(&rows, 6),
            .verdict = cursor_text(&rows, 7, &report->pool),
            .left_out = cursor_integer(&rows, 8),
            .unknown_communicators = cursor_integer(&rows, 9),
            .idle_calls = cursor_integer(&rows, 10),
            .off = {.where = ""},
        };
    report_query_end(report, &rows);
}

/* Returns the text of ranges, owned by the pool, and empties them. */
static const char *finish_ranges(struct ranges *ranges, struct pool *pool)
{
    const char *ranks = ranges_text(ranges), *text = pool_clean(pool, ranks, strlen(ranks));
    *ranges = (struct ranges){0};
    return text;
}

/* Collects counts. sql gives name, n, rank (NULL: of none), affects_messages; rows of one name stand behind each other,
 * in the order of ranks. */
static void collect_counts(struct report *report, const char *sql, struct report_count **counts, size_t *n_counts)
{
    struct cursor rows;
    struct ranges ranges = {0};
    struct report_count *count = NULL;
    report_query(report, &rows, sql);
    while (cursor_next(&rows)) {
        const char *name = cursor_text(&rows, 0, &report->pool);
        if (count == NULL || strcmp(count->name, name) != 0) {
            if (count != NULL)
                count->where = finish_ranges(&ranges, &report->pool);
            array_grow(counts, *n_counts, sizeof **counts);
            count = &(*counts)[(*n_counts)++];
            *count = (struct report_count){.name = name, .where = ""};
        }
        count->n = saturating_add(count->n, cursor_integer(&rows, 1));
        count->affects_messages = count->affects_messages || cursor_integer(&rows, 3) != 0;
        if (!isnan(cursor_real(&rows, 2))) {
            count->ranks++;
            ranges_add(&ranges, cursor_integer(&rows, 2));
        }
    }
    if (count != NULL)
        count->where = finish_ranges(&ranges, &report->pool);
    report_query_end(report, &rows);
}

static void collect_off(struct report *report)
{
    struct cursor rows;
    struct ranges ranges = {0};
    struct report_off *off = &report->completeness.off;
    report_query(report, &rows,
                 "SELECT rank, count(*), sum(operations), sum(partners), sum(1.0 * (end_ns - begin_ns)) * 1e-9 FROM "
                 "recording_off GROUP BY rank ORDER BY rank");
    while (cursor_next(&rows)) {
        ranges_add(&ranges, cursor_integer(&rows, 0));
        off->ranks++;
        off->times = saturating_add(off->times, cursor_integer(&rows, 1));
        off->operations = saturating_add(off->operations, cursor_integer(&rows, 2));
        off->partners = saturating_add(off->partners, cursor_integer(&rows, 3));
        off->time_s += cursor_real(&rows, 4);
    }
    off->where = finish_ranges(&ranges, &report->pool);
    report_query_end(report, &rows);
}

static void collect_sums(struct report *report)
{
    struct report_completeness *complete = &report->completeness;
    struct cursor rows;
    report_query(report, &rows,
                 "SELECT kind, sum(calls), count(DISTINCT rank), min(begin_ns) * 1e-9 FROM call_sum WHERE NOT off "
                 "GROUP BY kind ORDER BY sum(calls) DESC, kind");
    while (cursor_next(&rows)) {
        array_grow(&complete->sums, complete->n_sums, sizeof *complete->sums);
        complete->sums[complete->n_sums++] = (struct report_sum){.kind = cursor_text(&rows, 0, &report->pool),
                                                                 .calls = cursor_integer(&rows, 1),
                                                                 .ranks = cursor_integer(&rows, 2),
                                                                 .from_s = cursor_real(&rows, 3)};
    }
    report_query_end(report, &rows);
}

static void collect_completeness(struct report *report)
{
    if (report->result == 0)
        report->result = whole_read(&report->whole, report->database, report->path, report->error);
    collect_verdict(report);
    collect_sums(report);
    collect_off(report);
    collect_counts(report, "SELECT cause, n, rank, 1 FROM loss ORDER BY cause, rank", &report->losses,
                   &report->n_losses);
    collect_counts(report,
                   "SELECT name, calls, rank, affects_messages FROM untracked "
                   "ORDER BY max(affects_messages) OVER (PARTITION BY name) DESC, "
                   "total(calls) OVER (PARTITION BY name) DESC, name, rank",
                   &report->untracked, &report->n_untracked);
    collect_counts(report,
                   "SELECT reason, count(*), rank, reason NOT IN ('proc_null', 'cancelled', 'failed') FROM unmatched "
                   "GROUP BY reason, rank ORDER BY reason, rank",
                   &report->unmatched, &report->n_unmatched);
    collect_counts(report, "SELECT reason, messages, NULL, 1 FROM doubt ORDER BY 2 DESC, 1", &report->doubts,
                   &report->n_doubts);
    collect_counts(report,
                   "SELECT r.function || ' at ' || coalesce(c.place, '?') "
                   "AS name, sum(calls), rank, 0 FROM rejected_call r LEFT JOIN site c ON c.id = r.callsite "
                   "GROUP BY name, rank ORDER BY total(sum(calls)) OVER (PARTITION BY name) DESC, name, rank",
                   &report->rejected, &report->n_rejected);
    if (report_has_table(report, "unnamed_module"))
        collect_counts(report,
                       "SELECT module || ': ' || reason AS name, callsites, NULL, 0 FROM unnamed_module "
                       "ORDER BY total(callsites) OVER (PARTITION BY module, reason) DESC, name",
                       &report->unnamed, &report->n_unnamed);
}

void report_collect_run(struct report *report)
{
    struct error reason; /* the diagnosis asks for the same, and says why it is not known */
    collect_run(report);
    if (report->result == 0 && crowding_find(report->database, report->path, &report->crowding, &reason) != 0)
        report->crowding = (struct crowding){0};
    collect_waited(report);
    collect_totals(report);
    collect_levels(report);
    collect_completeness(report);
}

static void name_ranks(struct report *report, int64_t first, int64_t last, const char *command)
{
    for (int64_t rank = first > 0 ? first : 0; rank <= last && (size_t)rank < report->n_ranks; rank++)
        if (report->ranks[rank].rank == rank)
            report->ranks[rank].command = command;
}

/* Ends a program's list of ranks. */
static void end_program(struct report *report, struct ranges *ranges)
{
    if (report->n_programs > 0)
        report->programs[report->n_programs - 1].where = finish_ranges(ranges, &report->pool);
}

void report_collect_programs(struct report *report)
{
    struct cursor rows;
    struct ranges ranges = {0};
    for (size_t i = 0; i < report->n_ranks; i++)
        report->ranks[i].command = "";
    if (!report_has_table(report, "program")) /* run.command of an earlier version is that of one process */
        return;
    report_query(report, &rows,
                 "SELECT command, first_rank, last_rank FROM program "
                 "ORDER BY min(first_rank) OVER (PARTITION BY command), first_rank");
    while (cursor_next(&rows)) {
        const char *command = cursor_text(&rows, 0, &report->pool);
        int64_t first = cursor_integer(&rows, 1), last = cursor_integer(&rows, 2);
        if (first < 0 || last < first)
            continue; /* in a damaged trace */
        if (report->n_programs == 0 || strcmp(report->programs[report->n_programs - 1].command, command) != 0) {
            end_program(report, &ranges);
            array_grow(&report->programs, report->n_programs, sizeof *report->programs);
            report->programs[report->n_programs++] = (struct report_program){.command = command, .where = ""};
        }
        ranges_add_all(&ranges, first, last);
        int64_t *ranks = &report->programs[report->n_programs - 1].ranks;
        *ranks = saturating_add(*ranks, saturating_add(last - first, 1));
        name_ranks(report, first, last, command);
    }
    end_program(report, &ranges);
    report_query_end(report, &rows);
}
