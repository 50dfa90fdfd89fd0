/* Collects the call sites of partitioned messages: the first ones are kept, all are added up. */
#include "report/collect/report.h"

/* The same order as in share/sql/partition_sites.sql, whose query shows all of them. */
static const char partitions_sql[] =
    "SELECT s.function, c.name, c.file, c.line, CASE WHEN s.comm <> 0 THEN coalesce(m.name, 'comm ' || s.comm) END,"
    " s.partitions, s.messages, s.bytes, s.ready_s, s.arrival_s, s.hidden_bytes / nullif(s.kept_bytes, 0)"
    " FROM partition_site s LEFT JOIN site c ON c.id = s.callsite LEFT JOIN communicator m ON m.id = s.comm"
    " ORDER BY s.bytes DESC, s.function, s.callsite, s.comm, s.partitions";

static struct report_partitioned read_row(struct report *report, struct cursor *rows)
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

int report_collect_partitions(struct report *report, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    struct report_partitions *all = &report->partitions;
    /* A trace that was made before has no such view. */
    cursor_open(&rows, database, report->path,
                "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'partition_site'),"
                " EXISTS (SELECT 1 FROM partition WHERE message_id IS NOT NULL)",
                error);
    bool known = cursor_next(&rows), has_view = known && cursor_integer(&rows, 0) != 0;
    all->unsummed = known && !has_view && cursor_integer(&rows, 1) != 0;
    if (cursor_close(&rows) != 0 || !has_view)
        return rows.result;
    cursor_open(&rows, database, report->path, partitions_sql, error);
    while (cursor_next(&rows)) {
        struct report_partitioned row = read_row(report, &rows);
        if (all->n < REPORT_SITES)
            all->rows[all->n++] = row;
        all->sites++;
        all->messages += row.messages;
        all->bytes += row.bytes;
    }
    return cursor_close(&rows);
}
