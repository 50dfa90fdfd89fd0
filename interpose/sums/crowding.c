/* Begins and ends of ranks in the order of time, added up by machine. See crowding.h. */
#include "interpose/sums/crowding.h"

#include "interpose/database/cursor.h"

/* A rank without times was there all the time. At one moment ends come before begins. */
static const char fullest[] =
    "WITH machine(id, processors) AS (SELECT coalesce(machine, id), max(coalesce(processors, cores)) FROM node GROUP "
    "BY 1),"
    " alive(machine, begin_ns, end_ns) AS (SELECT coalesce(n.machine, n.id), coalesce(p.begin_ns, 0),"
    "   coalesce(p.end_ns, (SELECT duration_ns FROM run), 0) FROM process p JOIN node n ON n.id = p.node),"
    " edge(machine, at_ns, more) AS (SELECT machine, begin_ns, 1 FROM alive"
    "   UNION ALL SELECT machine, max(end_ns, begin_ns + 1), -1 FROM alive),"
    " level(machine, ranks) AS (SELECT machine, sum(more) OVER (PARTITION BY machine ORDER BY at_ns, more"
    "   ROWS UNBOUNDED PRECEDING) FROM edge),"
    " most(ranks, processors) AS (SELECT max(l.ranks), m.processors FROM level l JOIN machine m ON m.id = l.machine"
    "   GROUP BY l.machine) "
    "SELECT count(*) OVER (), ranks, processors FROM most WHERE ranks > processors "
    "ORDER BY 1.0 * ranks / processors DESC LIMIT 1";

int crowding_find(sqlite3 *database, const char *path, struct crowding *crowding, struct error *error)
{
    struct cursor rows;
    *crowding = (struct crowding){0};
    cursor_open(&rows, database, path, fullest, error);
    if (cursor_next(&rows))
        *crowding = (struct crowding){cursor_integer(&rows, 0), cursor_integer(&rows, 1), cursor_integer(&rows, 2)};
    return cursor_close(&rows);
}
