/* Collects what ranks do over time. Where each rank has a row, its longest calls are bars, and all others show as
 * shades; of more than ROWS ranks, neighbours share a row, which has shades alone. A shade is a part of the time
 * of a row: what its ranks do most in it, and for how much of it. Messages are drawn as lines, of many a sample by
 * chance. */
#include <inttypes.h>
#include <math.h>

#include "interpose/database/cursor.h"
#include "report/html/picture_scan.h"
#include "report/html/pictures.h"
#include "share/base/map.h"

struct timeline {
    const struct picture_source *source;
    struct picture *picture;
    const struct rank_bins *bins;
    const struct picture_rows *found;
    double begin_ns, end_ns;
};

static double seconds(const struct timeline *timeline, double ns)
{
    return (ns - timeline->begin_ns) * 1e-9;
}

static void add_shades(struct timeline *timeline)
{
    picture_table(timeline->picture, "shade", "row column activity share mpi");
    for (int64_t row = 0; row < timeline->bins->n; row++)
        for (int64_t column = 0; column < TIMELINE_COLUMNS; column++) {
            const uint64_t *units = timeline->found->shades + (row * TIMELINE_COLUMNS + column) * SPENT_COUNT;
            double parts[SPENT_COUNT], all = (double)rank_bins_size(timeline->bins, row), mpi = 0;
            int64_t most = 1;
            for (int64_t i = 1; i < SPENT_COUNT; i++) {
                parts[i] = (double)units[i] / SHADE_UNITS;
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

/* Returns the number of a function at a call site in the table of names, to which it is added where it is new. */
static int64_t name_of(const struct timeline *timeline, const struct timeline_bar *bar, struct map *numbers,
                       struct json *names)
{
    uint32_t *number = map_at(numbers, (struct map_key){(uint64_t)bar->function, (uint64_t)bar->callsite, 0});
    struct cursor rows;
    struct pool pool = {0};
    if (*number != MAP_ABSENT)
        return *number;
    picture_query(&rows, timeline->source,
                  "SELECT CASE ?1 WHEN -1 THEN 'round of messages' WHEN -2 THEN 'collective' ELSE "
                  "(SELECT name FROM function WHERE id = ?1) END, (SELECT place FROM site WHERE id = ?2)",
                  "ii", bar->function, bar->callsite);
    bool found = cursor_next(&rows);
    *number = (uint32_t)json_size(names);
    json_add(names,
             json_pack("[s, s]", found ? cursor_text(&rows, 0, &pool) : "", found ? cursor_text(&rows, 1, &pool) : ""));
    int64_t result = cursor_close(&rows) == 0 ? (int64_t)*number : -1;
    pool_release(&pool); /* json_pack has copied the texts */
    return result;
}

static int add_bars(struct timeline *timeline)
{
    struct map numbers = {0};
    struct json *names = json_array();
    int64_t name = 0;
    picture_table(timeline->picture, "bar", "row activity from to name");
    for (size_t i = 0; i < timeline->found->n_bars && name >= 0; i++) {
        const struct timeline_bar *bar = &timeline->found->bars[i];
        name = name_of(timeline, bar, &numbers, names);
        picture_row(timeline->picture, "iiddi", bar->rank, (int64_t)bar->activity, seconds(timeline, bar->begin_ns),
                    seconds(timeline, bar->begin_ns + (double)bar->call_ns), name);
    }
    picture_value(timeline->picture, "names", names);
    map_release(&numbers);
    return name >= 0 ? 0 : -1;
}

static void add_lines(struct timeline *timeline)
{
    const struct picture_rows *found = timeline->found;
    int64_t messages = timeline->source->report->messages, width = timeline->bins->width;
    picture_table(timeline->picture, "line", "from_row to_row from to bytes src dst");
    for (size_t i = 0; i < found->n_lines; i++) {
        const struct timeline_line *line = &found->lines[i];
        picture_row(timeline->picture, "iiddiii", line->src / width, line->dst / width,
                    seconds(timeline, line->from_ns), seconds(timeline, line->to_ns), line->bytes, line->src,
                    line->dst);
    }
    if (messages > TIMELINE_LINES)
        picture_note(timeline->picture, "Lines are a sample of %zu of %" PRId64 " messages.", found->n_lines, messages);
}

static int collect_timeline(struct timeline *timeline)
{
    struct picture *picture = timeline->picture;
    const struct picture_rows *found = timeline->found;
    int64_t bars = (int64_t)found->n_bars;
    if (found->calls == 0) {
        picture_lacks(picture, "Neither calls nor messages were recorded.");
        return 0;
    }
    if (timeline->bins->width == 1 && add_bars(timeline) != 0)
        return -1;
    if (bars < found->calls)
        add_shades(timeline);
    if (bars > 0 && bars < found->calls)
        picture_note(picture,
                     "Bars are the %" PRId64 " longest of %" PRId64 " calls; shades are all calls together: the "
                     "colour is what a rank does most in that time, the fuller the more of it.",
                     bars, found->calls);
    else if (bars < found->calls)
        picture_note(picture,
                     "Shades are %" PRId64 " calls together: the colour is what ranks do most in that time, the "
                     "fuller the more of it.",
                     found->calls);
    add_lines(timeline);
    return 0;
}

int picture_timeline(struct picture *picture, const struct picture_source *source)
{
    const struct rank_bins *bins = &source->rows;
    struct timeline timeline = {.source = source, .picture = picture, .bins = bins, .found = source->found};
    if (picture_span(source, &timeline.begin_ns, &timeline.end_ns) != 0)
        return -1;
    if (!(timeline.end_ns > timeline.begin_ns)) {
        picture_lacks(picture, "It is not known when processes began and ended.");
        return 0;
    }
    int result = collect_timeline(&timeline);
    struct json *activities = json_array(), *seen = json_array();
    for (size_t i = 0; i < SPENT_COUNT; i++) {
        json_add(activities, json_string(activity_name[i]));
        if (i == SPENT_COMPUTATION || source->found->seen[i])
            json_add(seen, json_string(activity_name[i]));
    }
    picture_value(picture, "seen", seen);
    picture_value(picture, "activities", activities);
    picture_value(picture, "rows", json_integer(bins->n));
    picture_value(picture, "span", json_integer(bins->width));
    picture_value(picture, "ranks", json_integer(bins->ranks));
    picture_value(picture, "columns", json_integer(TIMELINE_COLUMNS));
    picture_value(picture, "first", json_finite(timeline.begin_ns * 1e-9));
    picture_value(picture, "end", json_finite((timeline.end_ns - timeline.begin_ns) * 1e-9));
    picture_note_bins(picture, bins, "row");
    return result;
}
