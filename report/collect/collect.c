/* Collects a report part by part; later parts look up the ranks and models that earlier ones have found. */
#include <math.h>

#include "interpose/database/database.h"
#include "predictor/run_read/node_switches.h"
#include "report/collect/report.h"
#include "share/base/progress.h"

/* Temporary tables of what a report asks for several times and no trace stores. The views of these names take seconds
 * for millions of rows, and each query that names them would begin anew. The traffic of a kind is that of its first
 * round.
 *
 *     temp.pair(src, dst, messages, bytes, level)   the view traffic; of messages to or from a GPU the level of the
 *                                                   processes; where messages have rows of bursts alone, or none, the
 *                                                   sends of the totals
 *     temp.halves                                   the view kind_halves
 *     temp.replicate(rank, first_s, second_s,       the view rank_replicate without its error
 *       off_s)
 *     temp.heaviest_kind                            the rows of kind_summary of the ten heaviest kinds
 */
static const char pairs_table[] =
    "CREATE TEMP TABLE pair AS SELECT src, dst, messages, bytes, "
    "  CASE level WHEN 'gpu_on_socket' THEN iif(src = dst, 'self', 'intra_socket') WHEN 'gpu_on_node' THEN "
    "  'inter_socket' WHEN 'gpu_off_node' THEN 'inter_node' ELSE level END AS level FROM traffic "
    "  WHERE (SELECT detail FROM run) = 'all' UNION ALL "
    "  SELECT rank, peer, sum(calls), sum(bytes), CASE level WHEN 0 THEN 'self' WHEN 1 THEN 'intra_socket' WHEN 2 THEN "
    "  'inter_socket' WHEN 3 THEN 'inter_node' END FROM total WHERE (SELECT detail FROM run) <> 'all' AND "
    "  direction = 'send' AND NOT off AND (peer IS NOT NULL OR several) GROUP BY rank, peer, level;";

#define HEAVIEST                                                                                                       \
    "WITH heaviest AS MATERIALIZED (SELECT k.id AS kind_id, k.rounds, k.messages, k.bytes, s.time_s FROM kind k "      \
    "  LEFT JOIN (SELECT kind_id, sum(rounds * actual_s) AS time_s FROM kind_actual GROUP BY kind_id) s "              \
    "    ON s.kind_id = k.id ORDER BY s.time_s DESC, k.id LIMIT 10)"

static const char rounds_tables[] =
    "CREATE TEMP TABLE halves AS SELECT * FROM kind_halves;"
    "CREATE TEMP TABLE replicate AS SELECT rank, sum(rounds * first_s) AS first_s, sum(rounds * second_s) AS second_s, "
    "  sum(rounds * abs(first_s - second_s)) AS off_s FROM temp.halves GROUP BY rank;"
    "CREATE TEMP TABLE heaviest_kind AS " HEAVIEST
    ", sample AS MATERIALIZED (SELECT kind_id, min(id) AS round_id FROM round "
    "  WHERE kind_id IN (SELECT kind_id FROM heaviest) GROUP BY kind_id), "
    "incoming AS (SELECT s.kind_id, m.dst, count(*) AS n, sum(iif(f.level = 1, m.bytes, 0)) AS intra, "
    "    sum(iif(f.level = 2, m.bytes, 0)) AS inter, sum(iif(f.level = 3, m.bytes, 0)) AS node "
    "  FROM sample s CROSS JOIN round_place p ON p.round_id = s.round_id CROSS JOIN message_row m "
    "    ON m.round_id = p.round_id AND m.id BETWEEN p.first_message AND p.last_message "
    "  LEFT JOIN form f ON f.id = m.form "
    "  GROUP BY s.kind_id, m.dst), "
    "volume AS (SELECT kind_id, max(n) AS max_messages, sum(intra) AS intra, sum(inter) AS inter, sum(node) AS node "
    "  FROM incoming GROUP BY kind_id) "
    "SELECT h.kind_id, rounds, messages, max_messages, bytes, intra AS intra_socket_bytes, "
    "  inter AS inter_socket_bytes, node AS inter_node_bytes, time_s "
    "FROM heaviest h LEFT JOIN volume v ON v.kind_id = h.kind_id;";

/* The same without what needs rows of single messages and rounds. */
static const char rounds_tables_of_sums[] =
    "CREATE TEMP TABLE halves(kind_id, rank, rounds, first_s, second_s);"
    "CREATE TEMP TABLE replicate(rank, first_s, second_s, off_s);"
    "CREATE TEMP TABLE heaviest_kind AS " HEAVIEST " SELECT kind_id, rounds, messages, NULL AS max_messages, bytes, "
    "NULL AS intra_socket_bytes, NULL AS inter_socket_bytes, NULL AS inter_node_bytes, time_s FROM heaviest;";

int report_collect(struct report *report, sqlite3 *database, const char *path, const struct report_choice *choice,
                   struct error *error)
{
    *report = (struct report){.path = path,
                              .database = database,
                              .error = error,
                              .part = choice->part,
                              .other_switches = choice->topology != NULL,
                              .replicate_error = NAN,
                              .replicate_basis = "",
                              .fine_grained = {.machine = ""},
                              .gpu = {.machine = ""}};
    report_collect_shards(report, choice->is_page);
    progress_show("report: sums of rounds and messages");
    if (report->result == 0 && (sqlite3_exec(database, pairs_table, NULL, NULL, NULL) != SQLITE_OK ||
                                sqlite3_exec(database, report->shards.by_sums ? rounds_tables_of_sums : rounds_tables,
                                             NULL, NULL, NULL) != SQLITE_OK))
        report->result = database_error(database, path, "its sums cannot be formed", error);
    if (report->result == 0)
        report->result = node_switches_take(database, path, choice->topology, error);
    report_collect_run(report);
    progress_show("report: models and ranks");
    report_collect_rounds(report, choice);
    report_collect_programs(report);
    if (choice->details)
        report_collect_sites(report);
    report_collect_regions(report, choice);
    if (choice->fine_grained && report->result == 0) {
        progress_show("report: what parts would give");
        report_collect_fine_grained(report, choice);
    }
    if (choice->gpu && report->result == 0)
        report_collect_gpu(report, choice);
    progress_show("report: the stored replay");
    report_collect_replay(report, choice->machine);
    if (report->result == 0) {
        progress_show("report: the time of ranks");
        report_collect_activity(report);
    }
    progress_show(NULL);
    return report->result;
}
