/* Collects the run and its traffic by level. */
#include <math.h>

#include "report/collect/report.h"
#include "share/base/array.h"

static int collect_run(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT run_key, mpistair_version, mpi_family, mpi_library, thread_level, command, started_unix_ns, "
                "world_size, spools, duration_ns * 1e-9, (SELECT count(*) FROM node), coalesce(eager_limit_bytes, -1), "
                "coalesce(eager_limit_network_bytes, -1), own_cost_ns, started_by, "
                "(SELECT max(launched) FROM process) FROM run",
                error);
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
    return cursor_close(&rows);
}

static int collect_waited(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    report->waited = (struct report_waited){.wait_share = NAN, .run_share = NAN, .observed_s = NAN, .worst_rank = -1};
    cursor_open(&rows, database, report->path,
                "SELECT rank, wait_share, run_share, involuntary_switches, observed_s FROM processor_share "
                "WHERE wait_share IS NOT NULL ORDER BY wait_share DESC, rank",
                error);
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
    return cursor_close(&rows);
}

static int collect_totals(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT coalesce(sum(n), 0), coalesce(max(n), 0), coalesce(sum(bytes), 0) "
                "FROM (SELECT sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY dst)",
                error);
    if (cursor_next(&rows)) {
        report->messages = cursor_integer(&rows, 0);
        report->max_messages = cursor_integer(&rows, 1);
        report->bytes = cursor_integer(&rows, 2);
    }
    return cursor_close(&rows);
}

static int collect_levels(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT coalesce(level, 'unknown'), sum(n), max(n), sum(bytes), "
                "  1.0 * sum(bytes) / nullif((SELECT sum(bytes) FROM temp.pair), 0) "
                "FROM (SELECT level, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY level, dst) "
                "GROUP BY level "
                "ORDER BY CASE level WHEN 'self' THEN 0 WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 "
                "  WHEN 'inter_node' THEN 3 ELSE 4 END, level",
                error);
    while (cursor_next(&rows)) {
        if (array_grow(&report->levels, report->n_levels, sizeof *report->levels) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        report->levels[report->n_levels++] = (struct report_level){
            .level = cursor_text(&rows, 0, &report->pool),
            .messages = cursor_integer(&rows, 1),
            .max_messages = cursor_integer(&rows, 2),
            .bytes = cursor_integer(&rows, 3),
            .share = cursor_real(&rows, 4),
        };
    }
    return cursor_close(&rows);
}

int report_collect_run(struct report *report, sqlite3 *database, struct error *error)
{
    int result = collect_run(report, database, error);
    struct error reason; /* the diagnosis asks for the same, and tells it */
    if (result == 0 && crowding_find(database, report->path, &report->crowding, &reason) != 0)
        report->crowding = (struct crowding){0};
    if (result == 0)
        result = collect_waited(report, database, error);
    if (result == 0)
        result = collect_totals(report, database, error);
    return result == 0 ? collect_levels(report, database, error) : result;
}
