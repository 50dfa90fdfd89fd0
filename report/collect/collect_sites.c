/* Collects the call sites of collectives, one-sided communication, files and partitioned messages. Their views have a
 * row for each site; the first ones are kept, all are added up. */
#include <math.h>

#include "report/collect/report.h"
#include "share/base/saturating.h"

/* Names the site s: its function, caller, file, line, communicator. */
#define NAMED                                                                                                          \
    "SELECT s.function, c.name, c.file, c.line, "                                                                      \
    "CASE WHEN s.comm <> 0 THEN coalesce(m.name, 'comm ' || s.comm) END, "
#define FROM(view) " FROM " view " s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm "

/* The columns behind are calls, failed, bytes, time_s, inside_s, wait_s, transfer_s, last_rank, last_s, bytes_per_s,
 * is_transfer, joint, nonblocking. */
static const char collectives_sql[] =
    NAMED "s.calls, 0, s.bytes, s.time_s, s.time_s, s.wait_s, s.transfer_s, s.last_rank, s.last_s, NULL, 1, 1, "
          "s.nonblocking" FROM("collective_site") "ORDER BY s.time_s DESC, s.function, s.callsite, s.comm";
static const char rma_sql[] = NAMED
    "s.calls, 0, s.bytes, s.time_s, s.in_call_s, s.wait_s, s.transfer_s, NULL, NULL, NULL, s.kind = 'transfer', "
    "s.wait_s IS NOT NULL, s.time_s > s.in_call_s"
    " FROM (SELECT kind, function, callsite, comm, sum(calls) AS calls, sum(bytes) AS bytes, sum(time_s) AS time_s, "
    "  sum(in_call_s) AS in_call_s, sum(wait_s) AS wait_s, sum(transfer_s) AS transfer_s "
    "  FROM rma_site GROUP BY kind, function, callsite, comm) s "
    "LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm "
    "ORDER BY s.in_call_s DESC, s.function, s.callsite, s.comm";
static const char files_sql[] =
    NAMED "s.calls, s.failed, s.bytes, s.time_s, s.time_s, s.wait_s, s.transfer_s, NULL, NULL, s.bytes_per_s, "
          "s.bytes > 0, s.collective, s.nonblocking" FROM("file_site") "ORDER BY s.time_s DESC, s.function, "
                                                                       "s.callsite, s.comm, s.nonblocking";

static struct report_site read_site(struct report *report, struct cursor *rows)
{
    return (struct report_site){
        .function = cursor_text(rows, 0, &report->pool),
        .caller = cursor_text(rows, 1, &report->pool),
        .file = cursor_text(rows, 2, &report->pool),
        .line = cursor_integer(rows, 3),
        .communicator = cursor_text(rows, 4, &report->pool),
        .calls = cursor_integer(rows, 5),
        .failed = cursor_integer(rows, 6),
        .bytes = cursor_integer(rows, 7),
        .time_s = cursor_real(rows, 8),
        .inside_s = cursor_real(rows, 9),
        .wait_s = cursor_real(rows, 10),
        .transfer_s = cursor_real(rows, 11),
        .last_rank = sqlite3_column_type(rows->statement, 12) == SQLITE_NULL ? -1 : cursor_integer(rows, 12),
        .last_s = cursor_real(rows, 13),
        .bytes_per_s = cursor_real(rows, 14),
        .is_transfer = cursor_integer(rows, 15) != 0,
        .joint = cursor_integer(rows, 16) != 0,
        .nonblocking = cursor_integer(rows, 17) != 0,
    };
}

static double known(double seconds)
{
    return isnan(seconds) ? 0 : seconds;
}

static void collect_calls(struct report *report, const char *sql, struct report_sites *sites)
{
    struct cursor rows;
    report_query(report, &rows, sql);
    while (cursor_next(&rows)) {
        struct report_site site = read_site(report, &rows);
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
static const char partitions_sql[] =
    "SELECT s.function, c.name, c.file, c.line, CASE WHEN s.comm <> 0 THEN coalesce(m.name, 'comm ' || s.comm) END,"
    " s.partitions, s.messages, s.bytes, s.ready_s, s.arrival_s, s.hidden_bytes / nullif(s.kept_bytes, 0)"
    " FROM partition_site s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm"
    " ORDER BY s.bytes DESC, s.function, s.callsite, s.comm, s.partitions";

static struct report_partitioned read_partitioned(struct report *report, struct cursor *rows)
{
    return (struct report_partitioned){
        .site = {.function = cursor_text(rows, 0, &report->pool),
                 .caller = cursor_text(rows, 1, &report->pool),
                 .file = cursor_text(rows, 2, &report->pool),
                 .line = cursor_integer(rows, 3),
                 .communicator = cursor_text(rows, 4, &report->pool)},
        .partitions = cursor_integer(rows, 5),
        .messages = cursor_integer(rows, 6),
        .bytes = cursor_real(rows, 7),
        .ready_s = cursor_real(rows, 8),
        .arrival_s = cursor_real(rows, 9),
        .hidden = cursor_real(rows, 10),
    };
}

static void collect_partitions(struct report *report)
{
    struct cursor rows;
    struct report_partitions *all = &report->partitions;
    if (!report_has_table(report, "partition_site")) { /* a trace of an earlier version */
        report_query(report, &rows, "SELECT 1 FROM partition WHERE message_id IS NOT NULL");
        all->unsummed = cursor_next(&rows);
        report_query_end(report, &rows);
        return;
    }
    report_query(report, &rows, partitions_sql);
    while (cursor_next(&rows)) {
        struct report_partitioned row = read_partitioned(report, &rows);
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
