/* Collects the traffic: who sends how much to whom, and how long that takes beside what it would take alone; between
 * which nodes and sockets; and how many messages and bytes there are of each power of two and level.
 *
 * A message takes its time from when both sides have posted it until its receive is reported complete, which is an
 * upper bound. Alone it would take tau + bytes / BW(1), of its level and its protocol (the postal model). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/html/picture_scan.h"
#include "report/html/pictures.h"
#include "share/base/level.h"
#include "share/base/memory.h"

int picture_matrix(struct picture *picture, const struct picture_source *source)
{
    const struct report *report = source->report;
    const struct rank_bins *bins = &source->bins;
    size_t shown = 0, known = 0;
    const char *machine = picture_machine(report);
    const struct matrix_cell *cells = source->found->cells;
    picture_table(picture, "cell", "s d messages bytes time ratio");
    for (int64_t i = 0; i < bins->n * bins->n; i++) {
        const struct matrix_cell *cell = &cells[i];
        double ratio = cell->alone_s > 0 ? (double)cell->timed_ns * 1e-9 / cell->alone_s : 0;
        if (cell->messages == 0)
            continue;
        picture_row(picture, "iiiddd", i / bins->n * bins->width, i % bins->n * bins->width, cell->messages,
                    (double)cell->bytes, (double)cell->time_ns * 1e-9, ratio > 0 ? ratio : NAN);
        shown++;
        known += ratio > 0;
    }
    if (shown == 0)
        picture_lacks(picture, "No messages were recorded.");
    picture_bins(picture, bins, "row and column");
    if (known > 0)
        picture_note(
            picture,
            "Time: from when both sides have posted a message until its receive is reported complete, an upper "
            "bound. Modelled: what the message would take alone on machine %s (postal).",
            machine);
    else
        picture_note(picture,
                     "Time: from when both sides have posted a message until its receive is reported complete, "
                     "an upper bound. For measured / modelled 'mpistair predict' has to put a machine into the "
                     "trace.");
    return 0;
}

/* Of more nodes than NODES, neighbours go together. */
enum { NODES = 32, LINKS = 400 };

/* ?1: nodes of a group. A socket that is not known is -1. */
#define PLACES_SQL                                                                                                     \
    "WITH place AS MATERIALIZED ("                                                                                     \
    "  SELECT rank, node, node / ?1 AS part, CASE ?1 WHEN 1 THEN coalesce(socket, -1) ELSE -1 END AS socket "          \
    "  FROM process WHERE node >= 0), "                                                                                \
    "number AS MATERIALIZED ("                                                                                         \
    "  SELECT part, socket, row_number() OVER (ORDER BY part, socket) - 1 AS id, count(*) AS ranks, "                  \
    "    min(rank) AS first_rank, max(rank) AS last_rank, min(node) AS first_node, max(node) AS last_node "            \
    "  FROM place GROUP BY part, socket) "

static const char places_query[] =
    PLACES_SQL "SELECT id, part, socket, ranks, first_rank, last_rank, first_node, last_node, "
               "  (SELECT host FROM node WHERE id = first_node), (SELECT host FROM node WHERE id = last_node) "
               "FROM number ORDER BY id";

static const char links[] =
    PLACES_SQL ", seat AS MATERIALIZED (SELECT p.rank, n.id FROM place p JOIN number n USING (part, socket)) "
               "SELECT a.id, b.id, sum(t.messages), total(t.bytes) AS bytes "
               "FROM traffic t CROSS JOIN seat a ON a.rank = t.src CROSS JOIN seat b ON b.rank = t.dst "
               "GROUP BY a.id, b.id ORDER BY bytes DESC, 1, 2";

static int read_map_places(struct picture *picture, const struct picture_source *source, int64_t width, size_t *n)
{
    struct cursor rows;
    struct pool pool = {0};
    picture_table(picture, "place", "id part socket ranks first last host");
    picture_query(&rows, source, places_query, "i", width);
    for (*n = 0; cursor_next(&rows); ++*n) {
        const char *first = cursor_text(&rows, 8, &pool), *last = cursor_text(&rows, 9, &pool);
        bool one = cursor_integer(&rows, 6) == cursor_integer(&rows, 7);
        char *host = xasprintf("%s%s%s", first, one ? "" : " ... ", one ? "" : last);
        picture_row(picture, "iiiiiit", cursor_integer(&rows, 0), cursor_integer(&rows, 1), cursor_integer(&rows, 2),
                    cursor_integer(&rows, 3), cursor_integer(&rows, 4), cursor_integer(&rows, 5), host);
        free(host);
    }
    pool_release(&pool);
    return cursor_close(&rows);
}

static int read_links(struct picture *picture, const struct picture_source *source, int64_t width)
{
    struct cursor rows;
    size_t shown = 0, all = 0;
    double shown_bytes = 0, all_bytes = 0;
    picture_table(picture, "link", "from to messages bytes");
    picture_query(&rows, source, links, "i", width);
    while (cursor_next(&rows)) {
        int64_t from = cursor_integer(&rows, 0), to = cursor_integer(&rows, 1);
        double bytes = cursor_real(&rows, 3);
        all += from != to;
        all_bytes += from != to ? bytes : 0;
        if (from != to && shown == LINKS)
            continue;
        picture_row(picture, "iiid", from, to, cursor_integer(&rows, 2), bytes);
        shown += from != to;
        shown_bytes += from != to ? bytes : 0;
    }
    if (shown < all)
        picture_note(picture,
                     "The %zu heaviest of %zu connections are shown; they carry %.1f %% of the bytes between places.",
                     shown, all, all_bytes > 0 ? shown_bytes / all_bytes * 100 : 0.0);
    return cursor_close(&rows);
}

int picture_map(struct picture *picture, const struct picture_source *source)
{
    struct cursor rows;
    int64_t last = -1, nodes = 0;
    size_t n = 0;
    picture_query(&rows, source, "SELECT max(node), count(DISTINCT node) FROM process WHERE node >= 0", "");
    if (cursor_next(&rows) && sqlite3_column_type(rows.statement, 0) == SQLITE_INTEGER) {
        last = cursor_integer(&rows, 0);
        nodes = cursor_integer(&rows, 1);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    int64_t width = nodes > NODES ? last / NODES + 1 : 1;
    if (read_map_places(picture, source, width, &n) != 0 || read_links(picture, source, width) != 0)
        return -1;
    if (n == 0)
        picture_lacks(picture, "It is not known on which nodes the ranks ran.");
    picture_value(picture, "grouped", json_boolean(width > 1));
    if (width > 1)
        picture_note(picture,
                     "Each part of the ring stands for up to %" PRId64 " of the %" PRId64 " nodes, with all sockets.",
                     width, nodes);
    return 0;
}

int picture_sizes(struct picture *picture, const struct picture_source *source)
{
    int64_t first = SIZE_POWERS, last = 0;
    picture_table(picture, "size", "power from below level messages bytes");
    for (int64_t power = 0; power < SIZE_POWERS; power++)
        for (size_t level = 0; level < SIZE_LEVELS; level++) {
            const struct size_sum *sum = &source->found->sizes[level][power];
            if (sum->messages == 0)
                continue;
            first = power < first ? power : first;
            last = power;
            picture_row(picture, "iddtid", power, power == 0 ? 0.0 : (double)(UINT64_C(1) << (power - 1)),
                        (double)(UINT64_C(1) << power), level < LEVEL_COUNT ? level_name[level] : "not known",
                        sum->messages, (double)sum->bytes);
        }
    picture_value(picture, "first", json_integer(first));
    picture_value(picture, "last", json_integer(last));
    if (first == SIZE_POWERS)
        picture_lacks(picture, "No messages were recorded.");
    return 0;
}
