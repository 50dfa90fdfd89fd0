/* Collects what ranks do over time. Where each rank has a row, its longest calls are bars, and all others show as
 * shades; of more than ROWS ranks, neighbours share a row, which has shades alone. A shade is a part of the time
 * of a row: what its ranks do most in it, and for how much of it. Messages are drawn as lines, of many a sample by
 * chance. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "interpose/database/database.h"
#include "interpose/database/row.h"
#include "report/html/pictures.h"
#include "share/base/map.h"
#include "share/base/memory.h"

enum { ROWS = 64, COLUMNS = 240, BARS = 6000, LINES = 1000 };

enum { ID_ROUND = -1, ID_COLLECTIVE = -2 }; /* stand for functions in temp.activity_round */

/* temp.activity_call(rank, function, activity, begin_ns, call_ns, callsite) has all calls, temp.function_activity(id,
 * name, activity) their functions, and temp.activity_round, with the columns of activity_call, rounds of messages and
 * collectives, of traces that have no calls. */
static const char activity_tables[] =
    "CREATE TEMP TABLE IF NOT EXISTS function_activity(id INTEGER PRIMARY KEY, name TEXT, activity INTEGER);"
    "DELETE FROM temp.function_activity;"
    "DROP VIEW IF EXISTS temp.activity_call;"
    "DROP VIEW IF EXISTS temp.activity_round;"
    "CREATE TEMP VIEW activity_call AS"
    "  SELECT rank, a.id AS function, a.activity AS activity, begin_ns, call_ns, callsite"
    "  FROM call_row c CROSS JOIN temp.function_activity a ON a.id = c.function"
    "  UNION ALL SELECT src, a.id, a.activity, send_post_ns, send_call_ns, f.send_callsite"
    "  FROM message_row m CROSS JOIN form f ON f.id = m.form"
    "    CROSS JOIN temp.function_activity a ON a.id = f.send_function"
    "  WHERE send_call_ns IS NOT NULL AND f.send_completed IS NOT NULL"
    "  UNION ALL SELECT dst, a.id, a.activity, send_post_ns + late_ns, recv_call_ns, f.recv_callsite"
    "  FROM message_row m CROSS JOIN form f ON f.id = m.form"
    "    CROSS JOIN temp.function_activity a ON a.id = f.recv_function"
    "  WHERE recv_call_ns IS NOT NULL AND f.recv_completed IS NOT NULL;"
    "CREATE TEMP VIEW activity_round AS"
    "  SELECT rank, -1 AS function, 1 AS activity, begin_ns, end_ns - begin_ns AS call_ns, NULL AS callsite"
    "  FROM round_process"
    "  UNION ALL SELECT rank, -2, 2, begin_ns, call_ns, callsite FROM collective";

static int activity_tables_make(const struct picture_source *source)
{
    sqlite3 *database = source->database;
    const char *path = source->report->path;
    struct cursor rows;
    struct pool names = {0};
    if (sqlite3_exec(database, activity_tables, NULL, NULL, NULL) != SQLITE_OK)
        return database_error(database, path, "temporary tables of the pictures cannot be made", source->error);
    struct row insert = row_prepare(database, "temp.function_activity", 3);
    row_insert(&insert, "iti", (int64_t)ID_ROUND, "round of messages", (int64_t)SPENT_MESSAGES);
    row_insert(&insert, "iti", (int64_t)ID_COLLECTIVE, "collective", (int64_t)SPENT_COLLECTIVES);
    cursor_open(&rows, database, path, "SELECT id, name FROM function WHERE id >= 0", source->error);
    while (cursor_next(&rows)) {
        const char *name = cursor_text(&rows, 1, &names);
        row_insert(&insert, "iti", cursor_integer(&rows, 0), name, (int64_t)activity_kind(name));
    }
    int result = cursor_close(&rows);
    if (row_finish(&insert) != 0 && result == 0)
        result = database_error(database, path, "temporary tables of the pictures cannot be filled", source->error);
    pool_release(&names);
    return result;
}

struct timeline {
    const struct picture_source *source;
    struct picture *picture;
    struct rank_bins bins;
    double begin_ns, end_ns;
    const char *view;    /* from which calls are read */
    int64_t calls, bars; /* all, and those with a bar */
    bool seen[SPENT_COUNT];
    double *shades; /* [rows * COLUMNS * SPENT_COUNT] ns of all ranks of the row */
};

static double seconds(const struct timeline *timeline, double ns)
{
    return (ns - timeline->begin_ns) * 1e-9;
}

/* Adds a call to the columns that it touches. */
static void shade(struct timeline *timeline, int64_t row, int64_t activity, double begin_ns, double end_ns)
{
    double width = (timeline->end_ns - timeline->begin_ns) / COLUMNS;
    double from = fmax(begin_ns, timeline->begin_ns), to = fmin(end_ns, timeline->end_ns);
    if (!(to > from))
        return;
    size_t column = (size_t)((from - timeline->begin_ns) / width);
    for (; column < COLUMNS && from < to; column++) {
        double end = fmin(timeline->begin_ns + width * (double)(column + 1), to);
        timeline->shades[((size_t)row * COLUMNS + column) * SPENT_COUNT + (size_t)activity] += fmax(end - from, 0);
        from = fmax(end, from);
    }
}

static int read_shades(struct timeline *timeline, const char *view)
{
    char sql[256];
    struct cursor rows;
    timeline->view = view;
    timeline->calls = 0;
    snprintf(sql, sizeof sql,
             "SELECT rank / ?1, activity, 1.0 * begin_ns, 1.0 * begin_ns + call_ns FROM temp.%s "
             "WHERE rank >= 0 AND rank < ?2 AND call_ns >= 0",
             view);
    picture_query(&rows, timeline->source, sql, "ii", timeline->bins.width, timeline->bins.ranks);
    for (; cursor_next(&rows); timeline->calls++) {
        int64_t activity = cursor_integer(&rows, 1);
        timeline->seen[activity] = true;
        shade(timeline, cursor_integer(&rows, 0), activity, cursor_real(&rows, 2), cursor_real(&rows, 3));
    }
    return cursor_close(&rows);
}

static void add_shades(struct timeline *timeline)
{
    double width = (timeline->end_ns - timeline->begin_ns) / COLUMNS;
    picture_table(timeline->picture, "shade", "row column activity share mpi");
    for (int64_t row = 0; row < timeline->bins.n; row++)
        for (int64_t column = 0; column < COLUMNS; column++) {
            const double *parts = timeline->shades + (row * COLUMNS + column) * SPENT_COUNT;
            double all = width * (double)rank_bins_size(&timeline->bins, row), mpi = 0;
            int64_t most = 1;
            for (int64_t i = 1; i < SPENT_COUNT; i++) {
                mpi += parts[i];
                most = parts[i] > parts[most] ? i : most;
            }
            /* In percent; several threads of a rank may be in MPI at once. */
            if (mpi > all * 0.005)
                picture_row(timeline->picture, "iiiii", row, column, most,
                            (int64_t)fmin(parts[most] / all * 100 + 0.5, 100),
                            (int64_t)fmin(mpi / all * 100 + 0.5, 100));
        }
}

/* Returns the number of a function at a call site in the table of names, whose rows go to *names. */
static int64_t name_of(struct map *numbers, struct json *names, struct cursor *rows, struct pool *pool)
{
    struct map_key key = {(uint64_t)cursor_integer(rows, 4), (uint64_t)cursor_integer(rows, 5), 0};
    uint32_t *number = map_at(numbers, key);
    if (*number == MAP_ABSENT) {
        *number = (uint32_t)json_size(names);
        json_add(names, json_pack("[s, s]", cursor_text(rows, 6, pool), cursor_text(rows, 7, pool)));
    }
    return *number;
}

static int add_bars(struct timeline *timeline)
{
    static const char format[] =
        "SELECT v.rank, v.activity, 1.0 * v.begin_ns, 1.0 * v.call_ns, v.function, coalesce(v.callsite, -1), a.name, "
        "  c.place "
        "FROM (SELECT * FROM temp.%s WHERE rank >= 0 AND rank < ?1 AND call_ns >= 0 ORDER BY call_ns DESC LIMIT ?2) v "
        "  JOIN temp.function_activity a ON a.id = v.function LEFT JOIN site c ON c.id = v.callsite";
    char sql[sizeof format + 64];
    struct cursor rows;
    struct pool pool = {0};
    struct map numbers = {0};
    struct json *names = json_array();
    snprintf(sql, sizeof sql, format, timeline->view);
    picture_table(timeline->picture, "bar", "row activity from to name");
    picture_query(&rows, timeline->source, sql, "ii", timeline->bins.ranks, (int64_t)BARS);
    for (; cursor_next(&rows); timeline->bars++) {
        double begin_ns = cursor_real(&rows, 2), end_ns = begin_ns + cursor_real(&rows, 3);
        picture_row(timeline->picture, "iiddi", cursor_integer(&rows, 0), cursor_integer(&rows, 1),
                    seconds(timeline, begin_ns), seconds(timeline, end_ns), name_of(&numbers, names, &rows, &pool));
        pool_release(&pool); /* json_pack has copied the texts */
    }
    picture_value(timeline->picture, "names", names);
    map_release(&numbers);
    pool_release(&pool);
    return cursor_close(&rows);
}

/* Draws messages by chance: a hash of the number of each decides, so that no regular order of them shows. */
static int add_lines(struct timeline *timeline)
{
    struct cursor rows;
    int64_t messages = timeline->source->report->messages, lines = 0;
    int64_t below = messages > LINES ? (int64_t)((double)LINES / (double)messages * 4294967296.0) : 4294967296;
    picture_table(timeline->picture, "line", "from_row to_row from to bytes src dst");
    picture_query(&rows, timeline->source,
                  "SELECT src, dst, 1.0 * send_post_ns, 1.0 * send_post_ns + late_ns + recv_ns, bytes FROM message_row "
                  "WHERE (id & 4294967295) * 2654435761 & 4294967295 < ?3 AND recv_ns >= 0 AND src / ?1 <> dst / ?1 "
                  "AND src >= 0 AND src < ?2 AND dst >= 0 AND dst < ?2 LIMIT 2000",
                  "iii", timeline->bins.width, timeline->bins.ranks, below);
    for (; cursor_next(&rows); lines++)
        picture_row(timeline->picture, "iiddiii", cursor_integer(&rows, 0) / timeline->bins.width,
                    cursor_integer(&rows, 1) / timeline->bins.width, seconds(timeline, cursor_real(&rows, 2)),
                    seconds(timeline, cursor_real(&rows, 3)), cursor_integer(&rows, 4), cursor_integer(&rows, 0),
                    cursor_integer(&rows, 1));
    if (messages > LINES)
        picture_note(timeline->picture, "Lines are a sample of %" PRId64 " of %" PRId64 " messages.", lines, messages);
    return cursor_close(&rows);
}

int picture_span(const struct picture_source *source, double *begin_ns, double *end_ns)
{
    struct cursor rows;
    picture_query(&rows, source,
                  "SELECT coalesce(min(begin_ns), 0), max(coalesce(max(end_ns), 0), "
                  "coalesce((SELECT duration_ns FROM run), 0)) FROM process",
                  "");
    if (cursor_next(&rows)) {
        *begin_ns = cursor_real(&rows, 0);
        *end_ns = cursor_real(&rows, 1);
    }
    return cursor_close(&rows);
}

static int collect_timeline(struct timeline *timeline)
{
    struct picture *picture = timeline->picture;
    if (read_shades(timeline, "activity_call") != 0)
        return -1;
    if (timeline->calls == 0 && read_shades(timeline, "activity_round") != 0)
        return -1;
    if (timeline->calls == 0) {
        picture_lacks(picture, "Neither calls nor messages were recorded.");
        return 0;
    }
    if (timeline->bins.width == 1 && add_bars(timeline) != 0)
        return -1;
    if (timeline->bars < timeline->calls)
        add_shades(timeline);
    if (timeline->bars > 0 && timeline->bars < timeline->calls)
        picture_note(picture,
                     "Bars are the %" PRId64 " longest of %" PRId64 " calls; shades are all calls together: the "
                     "colour is what a rank does most in that time, the fuller the more of it.",
                     timeline->bars, timeline->calls);
    else if (timeline->bars < timeline->calls)
        picture_note(picture,
                     "Shades are %" PRId64 " calls together: the colour is what ranks do most in that time, the "
                     "fuller the more of it.",
                     timeline->calls);
    return add_lines(timeline);
}

int picture_timeline(struct picture *picture, const struct picture_source *source)
{
    struct timeline timeline = {.source = source, .picture = picture, .bins = rank_bins_of(source->bins.ranks, ROWS)};
    if (activity_tables_make(source) != 0 || picture_span(source, &timeline.begin_ns, &timeline.end_ns) != 0)
        return -1;
    if (!(timeline.end_ns > timeline.begin_ns)) {
        picture_lacks(picture, "It is not known when processes began and ended.");
        return 0;
    }
    timeline.shades = xcalloc((size_t)timeline.bins.n * COLUMNS * SPENT_COUNT, sizeof *timeline.shades);
    int result = collect_timeline(&timeline);
    free(timeline.shades);
    struct json *activities = json_array(), *seen = json_array();
    for (size_t i = 0; i < SPENT_COUNT; i++) {
        json_add(activities, json_string(activity_name[i]));
        if (i == SPENT_COMPUTATION || timeline.seen[i])
            json_add(seen, json_string(activity_name[i]));
    }
    picture_value(picture, "seen", seen);
    picture_value(picture, "activities", activities);
    picture_value(picture, "rows", json_integer(timeline.bins.n));
    picture_value(picture, "span", json_integer(timeline.bins.width));
    picture_value(picture, "ranks", json_integer(timeline.bins.ranks));
    picture_value(picture, "columns", json_integer(COLUMNS));
    picture_value(picture, "first", json_finite(timeline.begin_ns * 1e-9));
    picture_value(picture, "end", json_finite((timeline.end_ns - timeline.begin_ns) * 1e-9));
    picture_note_bins(picture, &timeline.bins, "row");
    return result;
}
