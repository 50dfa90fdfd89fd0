/* Collects who sends how much to whom, and how long that takes beside what it would take alone.
 *
 * A message takes its time from when both sides have posted it until its receive is reported complete, which is an
 * upper bound. Alone it would take tau + bytes / BW(1), of its level and its protocol (the postal model). */
#include <math.h>

#include "report/html/pictures.h"

/* ?1 is the width of a bin, ?2 the number of ranks, ?3 the name of the machine. */
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
    "  FROM protocol WHERE bytes_per_s > 0 WINDOW w AS (PARTITION BY level ORDER BY from_bytes)), "
    "     way AS ("
    "  SELECT m.src / ?1 AS s, m.dst / ?1 AS d, m.bytes, max(m.recv_ns + min(m.late_ns, 0), 0) * 1e-9 AS time_s, "
    "    r.tau_s + m.bytes / r.bytes_per_s AS alone_s "
    "  FROM message_row m CROSS JOIN form f ON f.id = m.form "
    "    LEFT JOIN rate r ON r.level = f.level AND m.bytes >= r.from_bytes AND m.bytes < r.below_bytes "
    "  WHERE m.src >= 0 AND m.src < ?2 AND m.dst >= 0 AND m.dst < ?2) "
    "SELECT s, d, count(*), total(bytes), total(time_s), "
    "  sum(CASE WHEN alone_s > 0 THEN time_s END) / nullif(sum(CASE WHEN time_s >= 0 THEN alone_s END), 0) "
    "FROM way GROUP BY s, d ORDER BY s, d";

int picture_matrix(struct picture *picture, const struct picture_source *source, struct error *error)
{
    const struct report *report = source->report;
    const struct rank_bins *bins = &source->bins;
    size_t best = report_best_model(report), cells = 0, known = 0;
    const char *machine = best < report->n_models  ? report->models[best].machine
                          : report->replay.id >= 0 ? report->replay.machine
                                                   : "";
    struct cursor rows;
    picture_table(picture, "cell", "s d messages bytes time ratio");
    picture_query(&rows, source, matrix_query, PICTURE_VALUES(bins->width, bins->ranks), error);
    if (rows.result == 0)
        sqlite3_bind_text(rows.statement, 3, machine, -1, SQLITE_STATIC);
    while (cursor_next(&rows)) {
        double ratio = cursor_real(&rows, 5);
        picture_row(picture, "iiiddd", cursor_integer(&rows, 0) * bins->width, cursor_integer(&rows, 1) * bins->width,
                    cursor_integer(&rows, 2), cursor_real(&rows, 3), cursor_real(&rows, 4), ratio > 0 ? ratio : NAN);
        cells++;
        known += ratio > 0;
    }
    if (cells == 0)
        picture_lacks(picture, "No messages were recorded.");
    picture_value(picture, "span", json_integer(bins->width));
    picture_value(picture, "ranks", json_integer(bins->ranks));
    picture_note_bins(picture, bins, "row and column");
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
    return cursor_close(&rows);
}
