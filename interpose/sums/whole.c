/* The verdict of the trace decides. See whole.h. */
#include "interpose/sums/whole.h"

#include <stdio.h>
#include <string.h>

#include "interpose/database/cursor.h"

static const char sql[] =
    "SELECT verdict, verdict = 'complete' OR verdict GLOB 'complete; totals *' OR "
    "  verdict GLOB 'complete but for * operations that the program left open*', "
    "  missing_processes = 0 AND lost = 0, "
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
        whole->is_whole = cursor_integer(&rows, 1) != 0;
        whole->times_known = cursor_integer(&rows, 2) != 0;
        whole->detail = (enum whole_detail)cursor_integer(&rows, 3);
        long long bursts = (long long)cursor_integer(&rows, 4);
        if (whole->detail == WHOLE_BURSTS)
            snprintf(whole->of_bursts, sizeof whole->of_bursts, "%lld burst%s, %.2g %% of the run", bursts,
                     bursts == 1 ? "" : "s", cursor_real(&rows, 5));
        if (!whole->is_whole)
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
