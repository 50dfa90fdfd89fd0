/* Collects the call sites of collectives, one-sided communication, files and partitioned messages. Their views have a
 * row for each site; the first ones are kept, all are added up. */
#include <math.h>

#include "report/collect/report.h"
#include "share/base/saturating.h"

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
    if (!report_has_table(report, "partition_site")) { /* a trace of an earlier version */
        report_query(report, &rows, "SELECT 1 FROM partition WHERE message_id IS NOT NULL");
        all->unsummed = cursor_next(&rows);
        report_query_end(report, &rows);
        return;
    }
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
