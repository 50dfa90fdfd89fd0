/* Collects the run, its traffic by level, how complete the recording is - each loss by its cause, and on which ranks -
 * which programs ran on which ranks, and the call sites of collectives, one-sided communication, files and partitioned
 * messages. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/shards.h"
#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/ranges.h"
#include "share/base/saturating.h"

const struct fields report_run_fields =
    FIELDS(report_run, FIELD(report_run, run_key), FIELD_AS("mpistair_version", report_run, version),
           FIELD(report_run, mpi_family), FIELD(report_run, mpi_library), FIELD(report_run, thread_level),
           FIELD(report_run, command));
const struct fields report_run_numbers =
    FIELDS(report_run, FIELD_OR_NULL(report_run, started_by), FIELD_OR_NULL(report_run, eager_limit_bytes),
           FIELD_OR_NULL(report_run, eager_limit_network_bytes), FIELD(report_run, own_cost_ns),
           FIELD(report_run, started_unix_ns), FIELD(report_run, duration_s), FIELD_AS("ranks", report_run, world_size),
           FIELD_OR_NULL(report_run, launched), FIELD(report_run, spools), FIELD(report_run, nodes));

static void collect_run(struct report *report)
{
    report_read_row(report, "SELECT run_key, mpistair_version, mpi_family, mpi_library, thread_level, command FROM run",
                    &report_run_fields, &report->run);
    report_read_row(report,
                    "SELECT started_by, coalesce(eager_limit_bytes, -1), coalesce(eager_limit_network_bytes, -1), "
                    "own_cost_ns, started_unix_ns, duration_ns * 1e-9, world_size, "
                    "coalesce(nullif(CAST((SELECT max(launched) FROM process) AS INTEGER), 0), -1), spools, "
                    "(SELECT count(*) FROM node) FROM run",
                    &report_run_numbers, &report->run);
}

const struct fields report_waited_fields =
    FIELDS(report_waited, FIELD(report_waited, ranks), FIELD(report_waited, worst_rank),
           FIELD(report_waited, wait_share), FIELD(report_waited, run_share), FIELD(report_waited, observed_s),
           FIELD_AS("involuntary_switches", report_waited, switches));

static void collect_waited(struct report *report)
{
    report->waited = (struct report_waited){.wait_share = NAN, .run_share = NAN, .observed_s = NAN, .worst_rank = -1};
    report_read_row(report,
                    "SELECT sum(wait_share >= " REPORT_WAITED ") OVER (), rank, wait_share, run_share, observed_s, "
                    "involuntary_switches FROM processor_share WHERE wait_share IS NOT NULL AND rank >= 0 "
                    "ORDER BY wait_share DESC, rank LIMIT 1",
                    &report_waited_fields, &report->waited);
}

const struct fields report_interface_fields =
    FIELDS(report_interface, FIELD(report_interface, name), FIELD(report_interface, bytes),
           FIELD(report_interface, packets), FIELD(report_interface, errors), FIELD(report_interface, retransmissions));

static void collect_network(struct report *report)
{
    const struct fields between = FIELDS(report, FIELD(report, between_nodes_bytes));
    report_read_rows(report,
                     "SELECT interface, sum(1.0 * in_bytes + out_bytes), sum(1.0 * packets), sum(1.0 * errors), "
                     "sum(1.0 * retransmissions) FROM "
                     "node_network GROUP BY interface ORDER BY 2 DESC, 1",
                     &report_interface_fields, &report->interfaces, &report->n_interfaces);
    report_read_row(report,
                    "SELECT total(1.0 * job_in_bytes + job_out_bytes) FROM (SELECT DISTINCT node, job_in_bytes, "
                    "job_out_bytes FROM node_network)",
                    &between, report);
}

const struct fields report_level_fields =
    FIELDS(report_level, FIELD(report_level, level), FIELD(report_level, messages), FIELD(report_level, max_messages),
           FIELD(report_level, bytes), FIELD(report_level, share));
const struct fields report_distance_fields =
    FIELDS(report_distance, FIELD(report_distance, distance), FIELD(report_distance, messages),
           FIELD(report_distance, max_messages), FIELD(report_distance, bytes), FIELD(report_distance, share));
const struct fields report_switch_fields =
    FIELDS(report_switch, FIELD_AS("switch", report_switch, name), FIELD(report_switch, level),
           FIELD(report_switch, nodes), FIELD(report_switch, ranks), FIELD(report_switch, within_bytes),
           FIELD(report_switch, up_bytes), FIELD(report_switch, down_bytes));

static void collect_traffic(struct report *report)
{
    const struct fields totals =
        FIELDS(report, FIELD(report, messages), FIELD(report, max_messages), FIELD(report, bytes));
    report_read_row(report,
                    "SELECT coalesce(sum(n), 0), coalesce(max(n), 0), coalesce(sum(bytes), 0) "
                    "FROM (SELECT sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY dst)",
                    &totals, report);
    report_read_rows(report,
                     "SELECT coalesce(level, 'unknown'), sum(n), max(n), sum(bytes), "
                     "  1.0 * sum(bytes) / nullif((SELECT sum(bytes) FROM temp.pair), 0) "
                     "FROM (SELECT level, sum(messages) AS n, sum(bytes) AS bytes FROM temp.pair GROUP BY level, dst) "
                     "GROUP BY level "
                     "ORDER BY CASE level WHEN 'self' THEN 0 WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 "
                     "  WHEN 'inter_node' THEN 3 ELSE 4 END, level",
                     &report_level_fields, &report->levels, &report->n_levels);
    report_read_rows(
        report,
        "WITH flow AS (SELECT a.node AS src_node, b.node AS dst_node, p.dst, sum(messages) AS n,"
        "  sum(bytes) AS bytes FROM temp.pair p JOIN process a ON a.rank = p.src JOIN process b ON b.rank ="
        "  p.dst WHERE a.node <> b.node GROUP BY 1, 2, 3),"
        " ways AS MATERIALIZED (SELECT src, dst, levels FROM (SELECT DISTINCT src_node, dst_node FROM flow)"
        "  JOIN switch_distance ON src = src_node AND dst = dst_node),"
        " to_rank AS (SELECT w.levels, f.dst, sum(n) AS n, sum(bytes) AS bytes FROM flow f JOIN ways w"
        "  ON w.src = f.src_node AND w.dst = f.dst_node GROUP BY w.levels, f.dst)"
        "SELECT CASE levels WHEN 1 THEN 'same switch' WHEN 2 THEN '1 level up' WHEN -1 THEN 'unknown'"
        "  ELSE coalesce((levels - 1) || ' levels up', 'no common switch') END,"
        "  sum(n), max(n), sum(bytes), 1.0 * sum(bytes) / nullif((SELECT sum(bytes) FROM temp.pair), 0)"
        " FROM to_rank WHERE EXISTS (SELECT 1 FROM node_switch) GROUP BY levels"
        " ORDER BY levels IS NULL, levels = -1, levels",
        &report_distance_fields, &report->distances, &report->n_distances);
    report_read_rows(report,
                     "SELECT switch, level, nodes, ranks, within_bytes, up_bytes, down_bytes FROM switch_volume"
                     " WHERE within_bytes + up_bytes + down_bytes > 0"
                     " ORDER BY up_bytes + down_bytes DESC, within_bytes DESC, switch LIMIT 12",
                     &report_switch_fields, &report->switches, &report->n_switches);
}

const struct fields report_completeness_fields = FIELDS(
    report_completeness, FIELD(report_completeness, verdict), FIELD(report_completeness, posted),
    FIELD(report_completeness, matched), FIELD(report_completeness, unmatched), FIELD(report_completeness, lost),
    FIELD(report_completeness, untracked), FIELD(report_completeness, uncertain),
    FIELD(report_completeness, missing_processes), FIELD(report_completeness, left_out),
    FIELD(report_completeness, unknown_communicators), FIELD_AS("unsuccessful_tests", report_completeness, idle_calls));
const struct fields report_off_fields =
    FIELDS(report_off, FIELD(report_off, times), FIELD(report_off, ranks), FIELD(report_off, where),
           FIELD(report_off, operations), FIELD(report_off, partners), FIELD(report_off, time_s));
const struct fields report_count_fields =
    FIELDS(report_count, FIELD(report_count, name), FIELD(report_count, n), FIELD(report_count, ranks),
           FIELD(report_count, where), FIELD(report_count, affects_messages));
const struct fields report_program_fields =
    FIELDS(report_program, FIELD(report_program, command), FIELD(report_program, ranks), FIELD(report_program, where));

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
    struct report_off *off = &report->completeness.off;
    struct report_count *ranks = NULL;
    size_t n = 0;
    report_read_row(report,
                    "SELECT count(*), count(DISTINCT rank), '', sum(operations), sum(partners), "
                    "total(end_ns - begin_ns) * 1e-9 FROM recording_off",
                    &report_off_fields, off);
    collect_counts(report, "SELECT '', 1, rank, 0 FROM recording_off GROUP BY rank ORDER BY rank", &ranks, &n);
    off->where = n > 0 ? ranks->where : "";
    free(ranks);
}

static void collect_completeness(struct report *report)
{
    struct report_completeness *complete = &report->completeness;
    if (report->result == 0)
        report->result = whole_read(&report->whole, report->database, report->path, report->error);
    char *sql = xasprintf("SELECT verdict, posted, matched, unmatched, lost, untracked, uncertain, missing_processes, "
                          "left_out, (SELECT count(*) FROM communicator WHERE known = 0), "
                          "(SELECT coalesce(sum(idle_calls), 0) FROM %s) FROM completeness",
                          shards_have_sums(report->database) ? "shard" : "call_row");
    report_read_row(report, sql, &report_completeness_fields, complete);
    free(sql);
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
    collect_network(report);
    collect_traffic(report);
    collect_completeness(report);
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
            ARRAY_ADD(report->programs, report->n_programs, (struct report_program){.command = command, .where = ""});
        }
        ranges_add_all(&ranges, first, last);
        int64_t *ranks = &report->programs[report->n_programs - 1].ranks;
        *ranks = saturating_add(*ranks, saturating_add(last - first, 1));
        for (int64_t rank = first; rank <= last && (size_t)rank < report->n_ranks; rank++)
            if (report->ranks[rank].rank == rank)
                report->ranks[rank].command = command;
    }
    end_program(report, &ranges);
    report_query_end(report, &rows);
}

/* Call sites have views with a row for each; the first ones are kept, all are added up. */

/* Names the site s: its function, caller, file, line, communicator. */
#define NAMED_SITE                                                                                                     \
    "SELECT s.function, c.name, c.file, c.line, "                                                                      \
    "CASE WHEN s.comm <> 0 THEN coalesce(m.name, 'comm ' || s.comm) END, "
#define FROM(view) " FROM " view " s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm "

/* The columns behind are calls, failed, bytes, time_s, inside_s, wait_s, transfer_s, last_rank, last_s, bytes_per_s,
 * is_transfer, joint, nonblocking. */
static const char collectives_sql[] = NAMED_SITE
    "s.calls, 0, s.bytes, s.time_s, s.time_s, s.wait_s, s.transfer_s, coalesce(s.last_rank, -1), s.last_s, NULL, 1, 1, "
    "s.nonblocking" FROM("collective_site") "ORDER BY s.time_s DESC, s.function, s.callsite, s.comm";
static const char rma_sql[] = NAMED_SITE
    "s.calls, 0, s.bytes, s.time_s, s.in_call_s, s.wait_s, s.transfer_s, -1, NULL, NULL, s.kind = 'transfer', "
    "s.wait_s IS NOT NULL, s.time_s > s.in_call_s"
    " FROM (SELECT kind, function, callsite, comm, sum(calls) AS calls, sum(bytes) AS bytes, sum(time_s) AS time_s, "
    "  sum(in_call_s) AS in_call_s, sum(wait_s) AS wait_s, sum(transfer_s) AS transfer_s "
    "  FROM rma_site GROUP BY kind, function, callsite, comm) s "
    "LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm "
    "ORDER BY s.in_call_s DESC, s.function, s.callsite, s.comm";
static const char files_sql[] =
    NAMED_SITE "s.calls, s.failed, s.bytes, s.time_s, s.time_s, s.wait_s, s.transfer_s, -1, NULL, s.bytes_per_s, "
               "s.bytes > 0, s.collective, s.nonblocking" FROM("file_site") "ORDER BY s.time_s DESC, s.function, "
                                                                            "s.callsite, s.comm, s.nonblocking";

const struct fields report_site_name_fields =
    FIELDS(report_site, FIELD(report_site, function), FIELD(report_site, caller), FIELD(report_site, file),
           FIELD(report_site, line), FIELD(report_site, communicator));
const struct fields report_site_fields =
    FIELDS(report_site, FIELD(report_site, calls), FIELD(report_site, failed), FIELD(report_site, bytes),
           FIELD(report_site, time_s), FIELD(report_site, inside_s), FIELD(report_site, wait_s),
           FIELD(report_site, transfer_s), FIELD_OR_NULL(report_site, last_rank), FIELD(report_site, last_s),
           FIELD(report_site, bytes_per_s), FIELD(report_site, is_transfer), FIELD(report_site, joint),
           FIELD(report_site, nonblocking));
const struct fields report_sites_fields =
    FIELDS(report_sites, FIELD(report_sites, sites), FIELD(report_sites, calls), FIELD(report_sites, failed),
           FIELD(report_sites, bytes), FIELD(report_sites, time_s), FIELD(report_sites, inside_s),
           FIELD(report_sites, wait_s), FIELD(report_sites, transfer_s));

static double known(double seconds)
{
    return isnan(seconds) ? 0 : seconds;
}

static void collect_calls(struct report *report, const char *sql, struct report_sites *sites)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    while (cursor_next(&rows)) {
        struct report_site site;
        int column = fields_read(&report_site_name_fields, &site, &rows, 0, &report->pool);
        fields_read(&report_site_fields, &site, &rows, column, &report->pool);
        if (sites->n < REPORT_SITES)
            sites->rows[sites->n++] = site;
        sites->sites++;
        sites->calls = saturating_add(sites->calls, site.calls);
        sites->failed = saturating_add(sites->failed, site.failed);
        sites->bytes = saturating_add(sites->bytes, site.bytes);
        sites->time_s += known(site.time_s);
        sites->inside_s += known(site.inside_s);
        sites->wait_s += site.joint ? known(site.wait_s) : 0;
        sites->transfer_s += site.joint ? known(site.transfer_s) : 0;
        sites->transfers_s += site.is_transfer ? known(site.inside_s) : 0;
    }
    report_query_end(report, &rows);
}

/* The same order as in share/sql/partition_sites.sql, whose query shows all of them. */
static const char partitions_sql[] = NAMED_SITE
    "s.partitions, s.messages, s.bytes, s.ready_s, s.arrival_s, s.hidden_bytes / nullif(s.kept_bytes, 0)" FROM(
        "partition_site") "ORDER BY s.bytes DESC, s.function, s.callsite, s.comm, s.partitions";
const struct fields report_partitioned_fields =
    FIELDS(report_partitioned, FIELD(report_partitioned, partitions), FIELD(report_partitioned, messages),
           FIELD(report_partitioned, bytes), FIELD(report_partitioned, ready_s), FIELD(report_partitioned, arrival_s),
           FIELD(report_partitioned, hidden_share));
const struct fields report_partitions_fields =
    FIELDS(report_partitions, FIELD(report_partitions, sites), FIELD(report_partitions, messages),
           FIELD(report_partitions, bytes));

static void collect_partitions(struct report *report)
{
    struct cursor rows;
    struct report_partitions *all = &report->partitions;
    report_query(report, &rows, partitions_sql);
    while (cursor_next(&rows)) {
        struct report_partitioned row = {.partitions = 0};
        int column = fields_read(&report_site_name_fields, &row.site, &rows, 0, &report->pool);
        fields_read(&report_partitioned_fields, &row, &rows, column, &report->pool);
        if (all->n < REPORT_SITES)
            all->rows[all->n++] = row;
        all->sites++;
        all->messages += row.messages;
        all->bytes += row.bytes;
    }
    report_query_end(report, &rows);
}

void report_collect_sites(struct report *report)
{
    collect_calls(report, collectives_sql, &report->collectives);
    collect_calls(report, rma_sql, &report->rma);
    collect_calls(report, files_sql, &report->files);
    collect_partitions(report);
}
