/* Holds the table of pictures, and what they share: bins of ranks, queries with numbers as parameters, and temporary
 * tables that divide calls into activities. */
#include "report/html/pictures.h"

#include <inttypes.h>

#include "interpose/database/database.h"
#include "interpose/database/row.h"

const struct picture_kind picture_kinds[] = {
    {"timeline", "Timeline",
     "What each rank does over time, and its messages. Drag to move, hold Ctrl and turn the wheel to zoom, drag in the "
     "strip below to choose a time, double-click to see all.",
     true, picture_timeline},
    {"ranks", "Where the time of ranks goes", "A bar a rank, divided by what it spends its time on.", true,
     picture_ranks},
    {"matrix", "Who sends to whom", "Senders from top to bottom, receivers from left to right.", false, picture_matrix},
    {"map", "Nodes and sockets",
     "The outer ring has the nodes, the inner one their sockets; ribbons are the traffic between them.", false,
     picture_map},
    {"scatter", "Measured against modelled",
     "Each point is the time of a rank in messages; on the line a model says what was measured.", false,
     picture_scatter},
    {"sizes", "Sizes of messages", "Messages by size, in powers of two.", false, picture_sizes},
    {"path", "Critical path",
     "The calls that the length of the run is made of, by the stored replay: shortening anything else does not shorten "
     "it.",
     true, picture_path},
};
const size_t n_picture_kinds = sizeof picture_kinds / sizeof picture_kinds[0];

void picture_note_bins(struct picture *picture, const struct rank_bins *bins, const char *what)
{
    if (bins->width > 1)
        picture_note(picture, "Each %s stands for %" PRId64 " of the %" PRId64 " ranks.", what, bins->width,
                     bins->ranks);
}

struct rank_bins rank_bins_of(int64_t ranks, int64_t most)
{
    int64_t width = ranks > most ? (ranks + most - 1) / most : 1;
    return (struct rank_bins){.ranks = ranks, .width = width, .n = (ranks + width - 1) / width};
}

/* A damaged trace may name any rank: what lies beyond MAX_RANK is left out of pictures. */
int rank_bins_count(int64_t *ranks, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    *ranks = 0;
    cursor_open(
        &rows, database, path,
        "SELECT max(coalesce((SELECT max(rank) FROM process), -1) + 1, coalesce((SELECT world_size FROM run), 0))",
        error);
    if (cursor_next(&rows))
        *ranks = cursor_integer(&rows, 0);
    if (*ranks < 0)
        *ranks = 0;
    if (*ranks > MAX_RANK)
        *ranks = MAX_RANK;
    return cursor_close(&rows);
}

int64_t rank_bins_size(const struct rank_bins *bins, int64_t bin)
{
    int64_t rest = bins->ranks - bin * bins->width;
    return rest < bins->width ? rest : bins->width;
}

void picture_query(struct cursor *rows, const struct picture_source *source, const char *sql, const int64_t *values,
                   size_t n, struct error *error)
{
    cursor_open(rows, source->database, source->report->path, sql, error);
    for (size_t i = 0; rows->result == 0 && i < n; i++)
        sqlite3_bind_int64(rows->statement, (int)i + 1, values[i]);
}

const char *const activity_name[SPENT_COUNT] = {"computation", "point-to-point", "collectives",   "one-sided",
                                                "files",       "other MPI",      "between polls", "not recorded"};

enum { ID_ROUND = -1, ID_COLLECTIVE = -2 }; /* stand for functions in temp.activity_round */

static const char tables[] =
    "CREATE TEMP TABLE IF NOT EXISTS function_activity(id INTEGER PRIMARY KEY, name TEXT, activity INTEGER);"
    "DELETE FROM temp.function_activity;"
    "DROP VIEW IF EXISTS temp.activity_call;"
    "DROP VIEW IF EXISTS temp.activity_round;"
    "CREATE TEMP VIEW activity_call AS"
    "  SELECT rank, a.id AS function, a.activity AS activity, begin_ns, call_ns, callsite"
    "  FROM main.call_row c CROSS JOIN temp.function_activity a ON a.id = c.function"
    "  UNION ALL SELECT src, a.id, a.activity, send_post_ns, send_call_ns, f.send_callsite"
    "  FROM main.message_row m CROSS JOIN main.form f ON f.id = m.form"
    "    CROSS JOIN temp.function_activity a ON a.id = f.send_function"
    "  WHERE send_call_ns IS NOT NULL AND f.send_completed IS NOT NULL"
    "  UNION ALL SELECT dst, a.id, a.activity, send_post_ns + late_ns, recv_call_ns, f.recv_callsite"
    "  FROM main.message_row m CROSS JOIN main.form f ON f.id = m.form"
    "    CROSS JOIN temp.function_activity a ON a.id = f.recv_function"
    "  WHERE recv_call_ns IS NOT NULL AND f.recv_completed IS NOT NULL;"
    "CREATE TEMP VIEW activity_round AS"
    "  SELECT rank, -1 AS function, 1 AS activity, begin_ns, end_ns - begin_ns AS call_ns, NULL AS callsite"
    "  FROM main.round_process"
    "  UNION ALL SELECT rank, -2, 2, begin_ns, call_ns, callsite FROM main.collective";

int activity_tables_make(sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    struct pool names = {0};
    if (sqlite3_exec(database, tables, NULL, NULL, NULL) != SQLITE_OK)
        return database_error(database, path, "temporary tables of the pictures cannot be made", error);
    struct row insert = row_prepare(database, "temp.function_activity", 3);
    row_insert(&insert, "iti", (int64_t)ID_ROUND, "round of messages", (int64_t)SPENT_MESSAGES);
    row_insert(&insert, "iti", (int64_t)ID_COLLECTIVE, "collective", (int64_t)SPENT_COLLECTIVES);
    cursor_open(&rows, database, path, "SELECT id, name FROM main.function WHERE id >= 0", error);
    while (cursor_next(&rows)) {
        const char *name = cursor_text(&rows, 1, &names);
        row_insert(&insert, "iti", cursor_integer(&rows, 0), name, (int64_t)activity_kind(name));
    }
    int result = cursor_close(&rows);
    if (row_finish(&insert) != 0 && result == 0)
        result = database_error(database, path, "temporary tables of the pictures cannot be filled", error);
    pool_release(&names);
    return result;
}
