/* Collects the traffic: who sends how much to whom, and how long that takes beside what it would take alone; between
 * which nodes and sockets; and how many messages and bytes there are of each power of two and level.
 *
 * A message takes its time from when both sides have posted it until its receive is reported complete, which is an
 * upper bound. Alone it would take tau + bytes / BW(1), of its level and its protocol (the postal model). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/html/pictures.h"
#include "share/base/level.h"
#include "share/base/memory.h"

/* Rows are messages: SQL would sort them to add them up. ?1 is the width of a bin, ?2 the number of ranks, ?3 the name
 * of the machine. */
static const char matrix_query[] =
    "WITH protocol AS ("
    "  SELECT CASE level WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 WHEN 'inter_node' THEN 3 END AS level, "
    "    protocol, max(CASE quantity WHEN 'threshold' THEN value ELSE 0 END) AS from_bytes, "
    "    max(CASE quantity WHEN 'tau' THEN value ELSE 0 END) AS tau_s, "
    "    max(CASE WHEN quantity = 'bw' AND n = 1 THEN value END) AS bytes_per_s "
    "  FROM machine_parameter WHERE machine = ?3 GROUP BY level, protocol), "
    "     rate AS MATERIALIZED ("
    "  SELECT level, CASE row_number() OVER w WHEN 1 THEN 0 ELSE from_bytes END AS from_bytes, "
    "    lead(from_bytes, 1, 9e999) OVER w AS below_bytes, tau_s, bytes_per_s "
    "  FROM protocol WHERE bytes_per_s > 0 WINDOW w AS (PARTITION BY level ORDER BY from_bytes)) "
    "SELECT m.src / ?1, m.dst / ?1, m.bytes, max(m.recv_ns + min(m.late_ns, 0), 0) * 1e-9, "
    "  r.tau_s + m.bytes / r.bytes_per_s "
    "FROM message_row m CROSS JOIN form f ON f.id = m.form "
    "  LEFT JOIN rate r ON r.level = f.level AND m.bytes >= r.from_bytes AND m.bytes < r.below_bytes "
    "WHERE m.src >= 0 AND m.src < ?2 AND m.dst >= 0 AND m.dst < ?2";

struct matrix_cell {
    int64_t messages;
    double bytes, time_s;
    double timed_s, alone_s; /* of messages of which both are known */
};

static int add_cells(struct matrix_cell *cells, const struct picture_source *source, const char *machine)
{
    const struct rank_bins *bins = &source->bins;
    struct cursor rows;
    picture_query(&rows, source, matrix_query, "iit", bins->width, bins->ranks, machine);
    while (cursor_next(&rows)) {
        struct matrix_cell *cell = &cells[cursor_integer(&rows, 0) * bins->n + cursor_integer(&rows, 1)];
        double time_s = cursor_real(&rows, 3), alone_s = cursor_real(&rows, 4); /* 0: not known */
        cell->messages++;
        cell->bytes += cursor_real(&rows, 2);
        cell->time_s += time_s;
        cell->timed_s += alone_s > 0 ? time_s : 0;
        cell->alone_s += sqlite3_column_type(rows.statement, 3) != SQLITE_NULL ? alone_s : 0;
    }
    return cursor_close(&rows);
}

int picture_matrix(struct picture *picture, const struct picture_source *source)
{
    const struct report *report = source->report;
    const struct rank_bins *bins = &source->bins;
    size_t best = report_best_model(report), shown = 0, known = 0;
    const char *machine = best < report->n_models  ? report->models[best].machine
                          : report->replay.id >= 0 ? report->replay.machine
                                                   : "";
    struct matrix_cell *cells = xcalloc((size_t)(bins->n * bins->n), sizeof *cells);
    int result = add_cells(cells, source, machine);
    picture_table(picture, "cell", "s d messages bytes time ratio");
    for (int64_t i = 0; i < bins->n * bins->n; i++) {
        const struct matrix_cell *cell = &cells[i];
        double ratio = cell->alone_s > 0 ? cell->timed_s / cell->alone_s : 0;
        if (cell->messages == 0)
            continue;
        picture_row(picture, "iiiddd", i / bins->n * bins->width, i % bins->n * bins->width, cell->messages,
                    cell->bytes, cell->time_s, ratio > 0 ? ratio : NAN);
        shown++;
        known += ratio > 0;
    }
    free(cells);
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
    return result;
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

enum { POWERS = 64, LEVELS = LEVEL_COUNT + 1 }; /* the last level: not known */

struct size_sum {
    int64_t messages;
    double bytes;
};

/* Returns 0 for no bytes, else 1 + the power of two that is not above them. */
static size_t power_of(int64_t bytes)
{
    size_t power = 0;
    while (bytes > 0) {
        bytes >>= 1;
        power++;
    }
    return power;
}

int picture_sizes(struct picture *picture, const struct picture_source *source)
{
    struct size_sum sums[LEVELS][POWERS] = {0};
    struct cursor rows;
    size_t first = POWERS, last = 0;
    picture_query(&rows, source,
                  "SELECT f.level, m.bytes FROM message_row m LEFT JOIN form f ON f.id = m.form WHERE m.bytes >= 0",
                  "");
    while (cursor_next(&rows)) {
        bool known = sqlite3_column_type(rows.statement, 0) == SQLITE_INTEGER;
        int64_t level = cursor_integer(&rows, 0), bytes = cursor_integer(&rows, 1);
        size_t power = power_of(bytes);
        struct size_sum *sum = &sums[known && level >= 0 && level < LEVEL_COUNT ? level : LEVEL_COUNT][power];
        sum->messages++;
        sum->bytes += (double)bytes;
        first = power < first ? power : first;
        last = power > last ? power : last;
    }
    picture_table(picture, "size", "power from below level messages bytes");
    for (size_t power = first; power <= last && power < POWERS; power++)
        for (size_t level = 0; level < LEVELS; level++) {
            const struct size_sum *sum = &sums[level][power];
            if (sum->messages > 0)
                picture_row(picture, "iddtid", (int64_t)power, power == 0 ? 0.0 : (double)(UINT64_C(1) << (power - 1)),
                            (double)(UINT64_C(1) << power), level < LEVEL_COUNT ? level_name[level] : "not known",
                            sum->messages, sum->bytes);
        }
    picture_value(picture, "first", json_integer((int64_t)first));
    picture_value(picture, "last", json_integer((int64_t)last));
    if (first == POWERS)
        picture_lacks(picture, "No messages were recorded.");
    return cursor_close(&rows);
}
