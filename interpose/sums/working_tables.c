/* A report asks for the same sums several times, and SQLite groups by sorting. So the rows of all rounds and all
 * messages are gone through once each (round_sums.c, message_sums.c), into tables that bear the names of the views for
 * which they stand. A view of the trace sees no temporary table, so all other views are made again as temporary ones
 * from their own text; names in queries find these first. */
#include "interpose/sums/working_tables.h"

#include <stdbool.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/sums/concurrent_rounds.h"
#include "interpose/database/database.h"
#include "interpose/sums/message_sums.h"
#include "interpose/sums/round_late.h"
#include "interpose/sums/round_sums.h"

#define STRING(x) #x
#define NUMBER(x) STRING(x)

static const char round_tables[] =
    "CREATE TEMP TABLE kind_actual(kind_id, rank, rounds, actual_s, PRIMARY KEY(kind_id, rank)) WITHOUT ROWID;"
    "CREATE TEMP TABLE kind_in_mpi(kind_id, rank, rounds, in_mpi_s, outside_s, PRIMARY KEY(kind_id, rank)) WITHOUT "
    "ROWID;"
    "CREATE TEMP TABLE kind_halves(kind_id, rank, rounds, first_s, second_s, PRIMARY KEY(kind_id, rank)) WITHOUT ROWID;"
    "CREATE TEMP TABLE round_wait(round_id INTEGER PRIMARY KEY, kind_id, ranks, time_s, wait_s, longest_s, last_rank);"
    "CREATE TEMP TABLE rank_actual(rank INTEGER PRIMARY KEY, rounds, actual_s, in_mpi_s);";

/* heaviest_kind has the columns of the view kind_summary; its traffic comes from the messages. */
static const char message_tables[] =
    "CREATE TEMP TABLE incoming(level TEXT, dst INTEGER, n INTEGER, bytes INTEGER);"
    "CREATE TEMP TABLE outgoing(src INTEGER PRIMARY KEY, n INTEGER, bytes INTEGER);"
    "CREATE TEMP TABLE rank_late(rank INTEGER PRIMARY KEY, late_senders_s, late_receivers_s);"
    "CREATE TEMP TABLE late_form(cause, rank, partner, form, messages, late_ns, longest_ns);"
    "CREATE TEMP TABLE heaviest_kind AS "
    "SELECT k.id AS kind_id, k.rounds, k.messages, NULL AS max_messages, k.bytes, NULL AS intra_socket_bytes, "
    "  NULL AS inter_socket_bytes, NULL AS inter_node_bytes, s.time_s "
    "FROM kind k LEFT JOIN (SELECT kind_id, sum(rounds * actual_s) AS time_s FROM temp.kind_actual GROUP BY kind_id) s "
    "  ON s.kind_id = k.id "
    "ORDER BY s.time_s DESC, k.id LIMIT " NUMBER(HEAVIEST_KINDS);

static int failed(sqlite3 *database, const char *path, struct error *error)
{
    return database_error(database, path, "its sums cannot be formed", error);
}

static int execute(sqlite3 *database, const char *path, const char *sql, struct error *error)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : failed(database, path, error);
}

/* Makes the views of the trace again as temporary ones, except those that have become tables. */
static int make_views(sqlite3 *database, const char *path, struct error *error)
{
    static const char prefix[] = "CREATE VIEW ";
    struct cursor rows;
    int result = 0;
    cursor_open(&rows, database, path,
                "SELECT sql FROM main.sqlite_schema WHERE type = 'view' AND name NOT IN "
                "(SELECT name FROM temp.sqlite_schema)",
                error);
    while (result == 0 && cursor_next(&rows)) {
        const char *text = (const char *)sqlite3_column_text(rows.statement, 0);
        if (text == NULL || strncmp(text, prefix, sizeof prefix - 1) != 0)
            continue; /* it is not of our schema: no query asks for it */
        char *sql = sqlite3_mprintf("CREATE TEMP VIEW %s", text + sizeof prefix - 1);
        if (sql == NULL || sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
            result = failed(database, path, error);
        sqlite3_free(sql);
    }
    return cursor_close(&rows) != 0 ? -1 : result;
}

static int make(sqlite3 *database, const char *path, bool messages, struct error *error)
{
    struct round_sums rounds = {0};
    int result = execute(database, path, "BEGIN", error);
    if (result == 0)
        result = execute(database, path, round_tables, error);
    if (result == 0)
        result = round_sums_make(database, path, &rounds, error);
    if (result == 0)
        result = concurrent_rounds_make(database, path, &rounds, error);
    if (result == 0 && messages)
        result = execute(database, path, message_tables, error);
    if (result == 0 && messages)
        result = message_sums_make(database, path, &rounds, error);
    if (result == 0 && messages)
        result = round_late_store(database, path, &rounds, error);
    if (result == 0)
        result = make_views(database, path, error);
    if (result == 0)
        result = execute(database, path, "COMMIT", error);
    round_sums_release(&rounds);
    return result;
}

int working_tables_make(sqlite3 *database, const char *path, struct error *error)
{
    return make(database, path, true, error);
}

int working_tables_of_rounds(sqlite3 *database, const char *path, struct error *error)
{
    return make(database, path, false, error);
}
