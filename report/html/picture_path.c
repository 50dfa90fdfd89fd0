/* Collects what the critical path of the stored replay is made of: calls by place in the source, and ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/html/pictures.h"
#include "share/base/json.h"
#include "share/base/memory.h"

enum { MOST_PATH_CALLS = 15 }; /* and none of less than 0.05 % of the path */

static const char by_place[] =
    "SELECT p.function, c.name, coalesce(c.file || ':' || c.line, '') || c.callers, total(p.critical_s), "
    "  total(p.blamed_s), count(DISTINCT p.rank), "
    "  (SELECT q.rank FROM replay_place q WHERE q.run_id = p.run_id AND q.function = p.function AND q.callsite IS "
    "p.callsite "
    "   ORDER BY q.critical_s DESC, q.rank LIMIT 1) "
    "FROM replay_place p LEFT JOIN site c ON c.id = p.callsite WHERE p.run_id = ?1 "
    "GROUP BY p.function, p.callsite HAVING total(p.critical_s) > "
    "  (SELECT 0.0005 * total(critical_s) FROM replay_place WHERE run_id = ?1) ORDER BY total(p.critical_s) DESC, 1, 2 "
    "LIMIT ?2";

static const char by_rank[] = "SELECT rank / ?2, total(critical_s), total(blamed_s) FROM replay_place "
                              "WHERE run_id = ?1 AND rank >= 0 AND rank < ?3 GROUP BY 1";

static int read_path_places(struct picture *picture, const struct picture_source *source, size_t *n,
                            struct error *error)
{
    struct cursor rows;
    struct pool pool = {0};
    picture_table(picture, "place", "place label function caller line critical blamed ranks rank");
    picture_query(&rows, source, by_place, PICTURE_VALUES(source->report->replay.id, MOST_PATH_CALLS), error);
    for (*n = 0; cursor_next(&rows); ++*n) {
        const char *function = cursor_text(&rows, 0, &pool), *caller = cursor_text(&rows, 1, &pool),
                   *line = cursor_text(&rows, 2, &pool);
        char *label = xasprintf("%s%s%s%s%s", function, caller[0] != '\0' ? " in " : "", caller,
                                line[0] != '\0' ? " " : "", line);
        picture_row(picture, "ittttddii", (int64_t)*n, label, function, caller, line, cursor_real(&rows, 3),
                    cursor_real(&rows, 4), cursor_integer(&rows, 5), cursor_integer(&rows, 6));
        free(label);
    }
    pool_release(&pool);
    return cursor_close(&rows);
}

int picture_path(struct picture *picture, const struct picture_source *source, struct error *error)
{
    const struct report_replay *replay = &source->report->replay;
    struct cursor rows;
    size_t n = 0;
    if (replay->id < 0) {
        picture_lacks(picture, "No replay is stored: 'mpistair replay %s --machine NAME' makes one.",
                      source->report->path);
        return 0;
    }
    if (read_path_places(picture, source, &n, error) != 0)
        return -1;
    picture_table(picture, "rank", "rank critical blamed");
    picture_query(&rows, source, by_rank, PICTURE_VALUES(replay->id, source->bins.width, source->bins.ranks), error);
    while (cursor_next(&rows))
        picture_row(picture, "idd", cursor_integer(&rows, 0) * source->bins.width, cursor_real(&rows, 1),
                    cursor_real(&rows, 2));
    if (n == 0)
        picture_lacks(picture, "The stored replay has no critical path.");
    else if (n == MOST_PATH_CALLS)
        picture_note(picture, "The %d longest calls are shown.", MOST_PATH_CALLS);
    picture_value(picture, "all", json_finite(replay->predicted_s));
    picture_value(picture, "span", json_integer(source->bins.width));
    picture_value(picture, "ranks", json_integer(source->bins.ranks));
    picture_note(picture,
                 "Computation counts for the call behind it. Blamed: waiting of other ranks that began there.");
    picture_note_bins(picture, &source->bins, "bar of the strip");
    return cursor_close(&rows);
}
