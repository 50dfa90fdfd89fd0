/* Collects how complete the recording is: each loss by its cause, and on which ranks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/collect/report.h"
#include "share/base/array.h"
#include "share/base/ranges.h"
#include "share/base/saturating.h"

static int collect_verdict(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT posted, matched, unmatched, lost, untracked, uncertain, missing_processes, verdict, left_out, "
                "(SELECT count(*) FROM communicator WHERE known = 0), "
                "(SELECT coalesce(sum(idle_calls), 0) FROM call_row) FROM completeness",
                error);
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
    return cursor_close(&rows);
}

/* Returns the text of ranges, owned by the pool, and empties them. */
static const char *finish_ranges(struct ranges *ranges, struct pool *pool)
{
    const char *ranks = ranges_text(ranges), *text = pool_clean(pool, ranks, strlen(ranks));
    *ranges = (struct ranges){0};
    return text != NULL ? text : "";
}

/* Collects counts. sql gives name, n, rank (NULL: of none), affects_messages; rows of one name stand behind each other,
 * in the order of ranks. */
static int collect_counts(struct report *report, sqlite3 *database, const char *sql, struct report_count **counts,
                          size_t *n_counts, struct error *error)
{
    struct cursor rows;
    struct ranges ranges = {0};
    struct report_count *count = NULL;
    cursor_open(&rows, database, report->path, sql, error);
    while (cursor_next(&rows)) {
        const char *name = cursor_text(&rows, 0, &report->pool);
        if (count == NULL || strcmp(count->name, name) != 0) {
            if (count != NULL)
                count->where = finish_ranges(&ranges, &report->pool);
            if (array_grow(counts, *n_counts, sizeof **counts) != 0) {
                cursor_no_memory(&rows);
                break;
            }
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
    return cursor_close(&rows);
}

static int collect_off(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    struct ranges ranges = {0};
    struct report_off *off = &report->completeness.off;
    cursor_open(&rows, database, report->path,
                "SELECT rank, count(*), sum(operations), sum(partners), sum(1.0 * (end_ns - begin_ns)) * 1e-9 FROM "
                "recording_off GROUP BY rank ORDER BY rank",
                error);
    while (cursor_next(&rows)) {
        ranges_add(&ranges, cursor_integer(&rows, 0));
        off->ranks++;
        off->times = saturating_add(off->times, cursor_integer(&rows, 1));
        off->operations = saturating_add(off->operations, cursor_integer(&rows, 2));
        off->partners = saturating_add(off->partners, cursor_integer(&rows, 3));
        off->time_s += cursor_real(&rows, 4);
    }
    off->where = finish_ranges(&ranges, &report->pool);
    return cursor_close(&rows);
}

static int collect_sums(struct report *report, sqlite3 *database, struct error *error)
{
    struct report_completeness *complete = &report->completeness;
    struct cursor rows;
    cursor_open(&rows, database, report->path,
                "SELECT kind, sum(calls), count(DISTINCT rank), min(begin_ns) * 1e-9 FROM call_sum WHERE NOT off "
                "GROUP BY kind ORDER BY sum(calls) DESC, kind",
                error);
    while (cursor_next(&rows)) {
        if (array_grow(&complete->sums, complete->n_sums, sizeof *complete->sums) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        complete->sums[complete->n_sums++] = (struct report_sum){.kind = cursor_text(&rows, 0, &report->pool),
                                                                 .calls = cursor_integer(&rows, 1),
                                                                 .ranks = cursor_integer(&rows, 2),
                                                                 .from_s = cursor_real(&rows, 3)};
    }
    return cursor_close(&rows);
}

/* Collects the modules whose call sites have no names. A trace that was made before has no such table. */
static int collect_unnamed(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, report->path, "SELECT 1 FROM sqlite_master WHERE name = 'unnamed_module'", error);
    bool has_table = cursor_next(&rows);
    if (cursor_close(&rows) != 0 || !has_table)
        return rows.result;
    return collect_counts(report, database,
                          "SELECT module || ': ' || reason AS name, callsites, NULL, 0 FROM unnamed_module "
                          "ORDER BY total(callsites) OVER (PARTITION BY module, reason) DESC, name",
                          &report->unnamed, &report->n_unnamed, error);
}

int report_collect_completeness(struct report *report, sqlite3 *database, struct error *error)
{
    int result = whole_read(&report->whole, database, report->path, error);
    if (result == 0)
        result = collect_verdict(report, database, error);
    if (result == 0)
        result = collect_sums(report, database, error);
    if (result == 0)
        result = collect_off(report, database, error);
    if (result == 0)
        result = collect_counts(report, database, "SELECT cause, n, rank, 1 FROM loss ORDER BY cause, rank",
                                &report->losses, &report->n_losses, error);
    if (result == 0)
        result = collect_counts(report, database,
                                "SELECT name, calls, rank, affects_messages FROM untracked "
                                "ORDER BY max(affects_messages) OVER (PARTITION BY name) DESC, "
                                "total(calls) OVER (PARTITION BY name) DESC, name, rank",
                                &report->untracked, &report->n_untracked, error);
    if (result == 0)
        result = collect_counts(
            report, database,
            "SELECT reason, count(*), rank, reason NOT IN ('proc_null', 'cancelled', 'failed') FROM unmatched "
            "GROUP BY reason, rank ORDER BY reason, rank",
            &report->unmatched, &report->n_unmatched, error);
    if (result == 0)
        result = collect_counts(report, database, "SELECT reason, messages, NULL, 1 FROM doubt ORDER BY 2 DESC, 1",
                                &report->doubts, &report->n_doubts, error);
    if (result == 0)
        result =
            collect_counts(report, database,
                           "SELECT r.function || ' at ' || coalesce(c.place, '?') "
                           "AS name, sum(calls), rank, 0 FROM rejected_call r LEFT JOIN site c ON c.id = r.callsite "
                           "GROUP BY name, rank ORDER BY total(sum(calls)) OVER (PARTITION BY name) DESC, name, rank",
                           &report->rejected, &report->n_rejected, error);
    if (result == 0)
        result = collect_unnamed(report, database, error);
    return result;
}
