/* Fills the temporary tables that divide calls into activities. See activity.h. */
#include "report/html/activity.h"

#include <stdint.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/row.h"

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
        if (name == NULL)
            cursor_no_memory(&rows);
        else
            row_insert(&insert, "iti", cursor_integer(&rows, 0), name, (int64_t)activity_kind(name));
    }
    int result = cursor_close(&rows);
    if (row_finish(&insert) != 0 && result == 0)
        result = database_error(database, path, "temporary tables of the pictures cannot be filled", error);
    pool_release(&names);
    return result;
}
