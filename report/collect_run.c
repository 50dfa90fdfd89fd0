/* The run and its traffic by level. */
#include <math.h>

#include "report/report.h"

static int collect_run(struct report *report, sqlite3 *database, struct error *error)
{
    struct rows rows;
    rows_open(&rows, database, report->path,
              "SELECT run_key, mpistair_version, mpi_family, mpi_library, thread_level, command, started_unix_ns, "
              "world_size, spools, duration_ns * 1e-9, (SELECT count(*) FROM node), coalesce(eager_limit_bytes, -1), "
              "coalesce(eager_limit_network_bytes, -1), own_cost_ns, started_by, "
              "(SELECT max(launched) FROM process) FROM run",
              error);
    if (rows_next(&rows)) {
        struct pool *pool = &report->pool;
        report->run = (struct report_run){
            .run_key = rows_text(&rows, 0, pool),
            .version = rows_text(&rows, 1, pool),
            .mpi_family = rows_text(&rows, 2, pool),
            .mpi_library = rows_text(&rows, 3, pool),
            .thread_level = rows_text(&rows, 4, pool),
            .command = rows_text(&rows, 5, pool),
            .started_unix_ns = rows_integer(&rows, 6),
            .world_size = rows_integer(&rows, 7),
            .spools = rows_integer(&rows, 8),
            .duration_s = rows_real(&rows, 9),
            .eager_limit_bytes = rows_integer(&rows, 11),
            .eager_limit_network_bytes = rows_integer(&rows, 12),
            .own_cost_ns = rows_real(&rows, 13),
            .started_by = rows_text(&rows, 14, pool),
            .launched = rows_integer(&rows, 15),
        };
        report->nodes = rows_integer(&rows, 10);
    }
    return rows_close(&rows);
}

static int collect_crowding(struct report *report, sqlite3 *database, struct error *error)
{
    struct rows rows;
    rows_open(&rows, database, report->path,
              "SELECT count(*) OVER (), ranks, cores FROM (SELECT count(*) AS ranks, n.cores AS cores FROM process p "
              "JOIN node n ON n.id = p.node GROUP BY n.id HAVING count(*) > n.cores) "
              "ORDER BY 1.0 * ranks / cores DESC LIMIT 1",
              error);
    if (rows_next(&rows))
        report->crowding = (struct report_crowding){
            .nodes = rows_integer(&rows, 0), .ranks = rows_integer(&rows, 1), .cores = rows_integer(&rows, 2)};
    return rows_close(&rows);
}

static int collect_waited(struct report *report, sqlite3 *database, struct error *error)
{
    struct rows rows;
    report->waited = (struct report_waited){.wait_share = NAN, .run_share = NAN, .observed_s = NAN, .worst_rank = -1};
    rows_open(&rows, database, report->path,
              "SELECT rank, wait_share, run_share, involuntary_switches, observed_s FROM processor_share "
              "WHERE wait_share IS NOT NULL ORDER BY wait_share DESC, rank",
              error);
    while (rows_next(&rows)) {
        double share = rows_real(&rows, 1);
        if (report->waited.worst_rank < 0)
            report->waited = (struct report_waited){.worst_rank = rows_integer(&rows, 0),
                                                    .wait_share = share,
                                                    .run_share = rows_real(&rows, 2),
                                                    .switches = rows_integer(&rows, 3),
                                                    .observed_s = rows_real(&rows, 4)};
        report->waited.ranks += share >= REPORT_WAITED;
    }
    return rows_close(&rows);
}

static int collect_totals(struct report *report, sqlite3 *database, struct error *error)
{
    struct rows rows;
    rows_open(&rows, database, report->path,
              "SELECT coalesce(sum(n), 0), coalesce(max(n), 0), coalesce(sum(bytes), 0) "
              "FROM (SELECT sum(n) AS n, sum(bytes) AS bytes FROM temp.incoming GROUP BY dst)",
              error);
    if (rows_next(&rows)) {
        report->messages = rows_integer(&rows, 0);
        report->max_messages = rows_integer(&rows, 1);
        report->bytes = rows_integer(&rows, 2);
    }
    return rows_close(&rows);
}

static int collect_levels(struct report *report, sqlite3 *database, struct error *error)
{
    struct rows rows;
    rows_open(&rows, database, report->path,
              "SELECT coalesce(level, 'unknown'), sum(n), max(n), sum(bytes), "
              "  1.0 * sum(bytes) / nullif((SELECT sum(bytes) FROM temp.incoming), 0) "
              "FROM temp.incoming GROUP BY level "
              "ORDER BY CASE level WHEN 'self' THEN 0 WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 "
              "  WHEN 'inter_node' THEN 3 ELSE 4 END, level",
              error);
    while (rows_next(&rows)) {
        if (list_grow(&report->levels, report->n_levels, sizeof *report->levels) != 0) {
            rows_no_memory(&rows);
            break;
        }
        report->levels[report->n_levels++] = (struct report_level){
            .level = rows_text(&rows, 0, &report->pool),
            .messages = rows_integer(&rows, 1),
            .max_messages = rows_integer(&rows, 2),
            .bytes = rows_integer(&rows, 3),
            .share = rows_real(&rows, 4),
        };
    }
    return rows_close(&rows);
}

int report_collect_run(struct report *report, sqlite3 *database, struct error *error)
{
    int result = collect_run(report, database, error);
    if (result == 0)
        result = collect_crowding(report, database, error);
    if (result == 0)
        result = collect_waited(report, database, error);
    if (result == 0)
        result = collect_totals(report, database, error);
    return result == 0 ? collect_levels(report, database, error) : result;
}
