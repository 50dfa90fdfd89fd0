/* Writes a run as one table of CSV, a row an event. The first column says what the event is; columns that do not apply
 * to it are empty (man 5 mpistair, EXPORT). */
#include "report/export/trace_export.h"
#include "report/collect/fields.h"
#include "share/base/output_file.h"
#include "share/base/progress.h"

static const char header[] =
    "what,id,rank,function,begin_ns,end_ns,complete_ns,communicator,peer,tag,bytes,site,place,"
    "peer_function,peer_begin_ns,peer_end_ns,peer_complete_ns,peer_site,peer_place,level,round,"
    "completed,unsuccessful,note\n";

enum { CSV_RANK = 2, CSV_PEER = 8 };

/* A message has two call sites, and a run millions of messages: their names are made once. */
static const char make_places_sql[] = "DROP TABLE IF EXISTS temp.export_place;"
                                      "CREATE TEMP TABLE export_place(id INTEGER PRIMARY KEY, name TEXT);"
                                      "INSERT INTO temp.export_place SELECT id, place FROM site;";

/* What follows the bytes of an event that has one call site and no peer's side, but for the last three columns. */
#define PLACE_ALONE                                                                                                    \
    "callsite, (SELECT name FROM temp.export_place WHERE id = callsite), NULL, NULL, NULL, NULL, NULL, NULL, NULL, "   \
    "NULL, "

#define LASTING " WHERE kept(rank, begin_ns, begin_ns + call_ns) AND kept(rank, begin_ns, end_ns) ORDER BY id"

/* The view call of the rows that are looked at. */
#define EXPORTED_CALLS                                                                                                 \
    "(SELECT rank, (SELECT name FROM function n WHERE n.id = c.function) AS function, begin_ns,"                       \
    "   begin_ns + call_ns AS end_ns, completed, idle_calls, callsite FROM export_call c"                              \
    " UNION ALL SELECT src, n.name, send_post_ns, send_post_ns + send_call_ns, f.send_completed, 0, f.send_callsite"   \
    "   FROM export_message m JOIN form f ON f.id = m.form JOIN function n ON n.id = f.send_function"                  \
    "   WHERE send_call_ns IS NOT NULL AND f.send_completed IS NOT NULL"                                               \
    " UNION ALL SELECT dst, n.name, send_post_ns + late_ns, send_post_ns + late_ns + recv_call_ns, f.recv_completed,"  \
    "   0, f.recv_callsite FROM export_message m JOIN form f ON f.id = m.form"                                         \
    "   JOIN function n ON n.id = f.recv_function WHERE recv_call_ns IS NOT NULL AND f.recv_completed IS NOT NULL)"

/* Messages, then the calls, which have those that post a message as well. */
static const char *const csv_parts[] = {
    "SELECT 'message', m.id, src, (SELECT name FROM function WHERE id = send_function), send_post_ns,"
    " send_post_ns + send_call_ns, send_post_ns + send_ns, comm, dst, tag, bytes, send_callsite,"
    " (SELECT name FROM temp.export_place WHERE id = send_callsite),"
    " (SELECT name FROM function WHERE id = recv_function), send_post_ns + late_ns,"
    " send_post_ns + late_ns + recv_call_ns, send_post_ns + late_ns + recv_ns, recv_callsite,"
    " (SELECT name FROM temp.export_place WHERE id = recv_callsite), CASE level WHEN 0 THEN 'self'"
    " WHEN 1 THEN 'intra_socket' WHEN 2 THEN 'inter_socket' WHEN 3 THEN 'inter_node' END, round_id, NULL, NULL,"
    " CASE WHEN uncertain THEN 'uncertain' END FROM export_message m JOIN form f ON f.id = m.form"
    " WHERE " MESSAGE_IS_KEPT " ORDER BY m.id",

    "SELECT 'call', NULL, rank, function, begin_ns, end_ns, NULL, NULL, NULL, NULL, NULL, " PLACE_ALONE
    "completed, idle_calls, NULL FROM " EXPORTED_CALLS " WHERE kept(rank, begin_ns, end_ns)",

    "SELECT 'collective', id, rank, function, begin_ns, begin_ns + call_ns, end_ns, comm, root, NULL, "
    "bytes, " PLACE_ALONE "NULL, NULL, CASE WHEN nonblocking THEN 'nonblocking' END FROM collective" LASTING,

    "SELECT 'one-sided', id, rank, function, begin_ns, begin_ns + call_ns, end_ns, comm, target, NULL, "
    "bytes, " PLACE_ALONE "NULL, NULL, CASE WHEN window IS NOT NULL THEN 'window ' || window END FROM rma" LASTING,

    "SELECT 'file', id, rank, function, begin_ns, begin_ns + call_ns, end_ns, comm, NULL, NULL, bytes, " PLACE_ALONE
    "NULL, NULL, coalesce('file ' || file, '') || iif(failed, ' failed', '') FROM file_call" LASTING,

    "SELECT 'unmatched ' || direction, id, rank, function, post_ns, NULL, complete_ns, comm, peer, tag, "
    "bytes, " PLACE_ALONE "NULL, NULL, reason FROM unmatched WHERE kept(rank, post_ns, complete_ns) ORDER BY id",

    "SELECT 'mark', number, rank, 'MPI_Pcontrol', at_ns, at_ns, NULL, NULL, NULL, NULL, NULL, " PLACE_ALONE
    "NULL, NULL, NULL FROM mark WHERE kept(rank, at_ns, NULL) ORDER BY at_ns, rank",
};

/* Returns 0, or -1 with the reason where a column has no rank of the run. */
static int check_rank(const struct export *export, struct cursor *rows, int column)
{
    int64_t rank = cursor_integer(rows, column);
    if (rank >= 0 && (size_t)rank < export->selection.n_ranks)
        return 0;
    return error_set(export->error, "%s: %s %lld: rank %lld is not in the table process", export->path,
                     (const char *)sqlite3_column_text(rows->statement, 0), (long long)cursor_integer(rows, 1),
                     (long long)rank);
}

static int write_part(struct export *export, FILE *stream, const char *sql, struct progress *progress, size_t *n)
{
    struct cursor rows;
    export_query(export, &rows, sql);
    while (!ferror(stream) && cursor_next(&rows)) {
        if (check_rank(export, &rows, CSV_RANK) != 0 ||
            (sql == csv_parts[0] && check_rank(export, &rows, CSV_PEER) != 0))
            rows.result = -1;
        else
            statement_csv(stream, rows.statement);
        progress_step(progress, ++*n);
    }
    return cursor_close(&rows);
}

int export_csv(struct export *export)
{
    struct output_file file;
    struct progress progress;
    size_t n = 0;
    if (output_file_open(&file, export->output, export->error) != 0)
        return -1;
    fputs(header, file.stream);
    progress_start(&progress, "export: rows");
    int result = export_run(export, make_places_sql);
    for (size_t i = 0; result == 0 && i < sizeof csv_parts / sizeof *csv_parts; i++)
        result = write_part(export, file.stream, csv_parts[i], &progress, &n);
    progress_end(&progress);
    return output_file_end(&file, result, export->error);
}
