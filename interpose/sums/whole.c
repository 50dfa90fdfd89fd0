/* The verdict of the trace decides. See whole.h. */
#include "interpose/sums/whole.h"

#include <stdio.h>
#include <string.h>

#include "interpose/database/cursor.h"

/* Counts ranks that ended early itself, because the verdicts of older traces do not include them. */
static const char sql[] =
    "SELECT verdict, verdict = 'complete' OR verdict GLOB 'complete; totals *' OR "
    "  verdict GLOB 'complete but for * operations that the program left open*', "
    "  missing_processes = 0 AND lost = 0, "
    "  (SELECT count(*) FROM process WHERE ended IN ('killed', 'abort', 'exit')), "
    "  (SELECT CASE detail WHEN 'all' THEN 0 WHEN 'none' THEN 2 ELSE 1 END FROM run), "
    "  (SELECT count(*) FROM burst), "
    "  (SELECT 100.0 * total(end_ns - begin_ns) / max((SELECT duration_ns FROM run), 1) FROM burst) FROM completeness";

int whole_read(struct whole *whole, sqlite3 *database, const char *path, struct error *error)
{
    struct cursor rows;
    struct pool pool = {0};
    *whole = (struct whole){.is_whole = true, .times_known = true};
    cursor_open(&rows, database, path, sql, error);
    if (cursor_next(&rows)) {
        const char *verdict = cursor_text(&rows, 0, &pool);
        long long unfinished = (long long)cursor_integer(&rows, 3);
        bool complete = cursor_integer(&rows, 1) != 0;
        whole->is_whole = complete && unfinished == 0;
        whole->times_known = cursor_integer(&rows, 2) != 0;
        whole->detail = (enum whole_detail)cursor_integer(&rows, 4);
        long long bursts = (long long)cursor_integer(&rows, 5);
        if (whole->detail == WHOLE_BURSTS)
            snprintf(whole->of_bursts, sizeof whole->of_bursts, "%lld burst%s, %.2g %% of the run", bursts,
                     bursts == 1 ? "" : "s", cursor_real(&rows, 6));
        if (!whole->is_whole && complete)
            snprintf(whole->reason, sizeof whole->reason, "%lld rank%s ended without MPI_Finalize", unfinished,
                     unfinished == 1 ? "" : "s");
        else if (!whole->is_whole)
            snprintf(whole->reason, sizeof whole->reason, "%s", verdict);
    }
    pool_release(&pool);
    return cursor_close(&rows);
}

void whole_mark(char *text)
{
    for (char *at = text; (at = strstr(at, " %")) != NULL; at += 2) {
        at[0] = '%';
        at[1] = '?';
    }
}

bool whole_has_stops(sqlite3 *database)
{
    sqlite3_stmt *statement = NULL;
    bool found = sqlite3_prepare_v2(database, "SELECT 1 FROM sqlite_master WHERE name = 'not_recorded'", -1, &statement,
                                    NULL) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}
