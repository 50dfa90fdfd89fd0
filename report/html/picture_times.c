/* Collects where the time of ranks goes, the calls on the critical path, and measured beside modelled times.
 *
 * A stored replay divides the time of ranks by cause, and leaves what its model does not explain; without one it is
 * divided by what was recorded, as the table of the first screen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/picture_scan.h"
#include "report/html/pictures.h"
#include "share/base/memory.h"
#include "share/base/order.h"

/* Parts in the order of the bars: as measured, but for the modelled parts of transfers, which are cut where they exceed
 * what was measured. Behind them what they are computed from. */
enum share {
    SHARE_LATENCY = 3,
    SHARE_PROGRESS = 7,
    SHARE_COLLECTIVE_TRANSFER = 9,
    SHARE_UNEXPLAINED = 11,
    SHARES = 13,
    SHARE_TRANSFER = SHARES,
    SHARES_READ,
};
static const char *const part_title[SHARES] = {
    "computation", "late sender",     "late receiver",       "latency", "bandwidth",     "contention",  "queue",
    "progress",    "collective wait", "collective transfer", "other",   "not explained", "not recorded"};
static const char *const part_quantity[SHARES_READ] = {
    "computation", "late_sender",     "late_receiver",       "latency", "bandwidth", "contention",   "queue",
    "progress",    "collective_wait", "collective_transfer", "other",   "",          "not_recorded", "transfer"};

/* What the trace has of a bin: sums by quantity. */
struct quantities {
    double measured[SHARES_READ], predicted[SHARES_READ];
};

static void take(struct quantities *sums, const char *quantity, double measured_s, double predicted_s)
{
    for (size_t i = 0; i < SHARES_READ; i++)
        if (strcmp(part_quantity[i], quantity) == 0) {
            sums->measured[i] += isfinite(measured_s) ? fmax(measured_s, 0) : 0;
            sums->predicted[i] += isfinite(predicted_s) ? fmax(predicted_s, 0) : 0;
        }
}

static void divide(const struct quantities *sums, double parts[SHARES])
{
    const double *measured = sums->measured, *predicted = sums->predicted;
    double explained = fmin(measured[SHARE_TRANSFER], predicted[SHARE_TRANSFER]), named = 0;
    double collective = fmin(measured[SHARE_COLLECTIVE_TRANSFER], predicted[SHARE_COLLECTIVE_TRANSFER]);
    memcpy(parts, measured, SHARES * sizeof *parts);
    for (size_t i = SHARE_LATENCY; i <= SHARE_PROGRESS; i++)
        named += predicted[i];
    for (size_t i = SHARE_LATENCY; i <= SHARE_PROGRESS; i++)
        parts[i] = predicted[i] * (named > 0 ? explained / named : 0);
    parts[SHARE_COLLECTIVE_TRANSFER] = collective;
    parts[SHARE_UNEXPLAINED] =
        measured[SHARE_TRANSFER] - (named > 0 ? explained : 0) + measured[SHARE_COLLECTIVE_TRANSFER] - collective;
}

static void add_bar(struct picture *picture, const struct rank_bins *bins, int64_t bin, const char *const *titles,
                    const double *parts, size_t n_parts)
{
    double n = (double)rank_bins_size(bins, bin);
    for (size_t part = 0; part < n_parts; part++)
        if (parts[part] > 0)
            picture_row(picture, "itdi", bin * bins->width, titles[part], parts[part] / n, (int64_t)part);
}

static int of_replay(struct picture *picture, const struct picture_source *source)
{
    const struct report_replay *replay = &source->report->replay;
    const struct rank_bins *bins = &source->bins;
    struct quantities *sums = xcalloc((size_t)bins->n, sizeof *sums);
    struct pool pool = {0};
    struct cursor rows;
    picture_query(&rows, source,
                  "SELECT p.rank / ?1, t.quantity, total(t.measured_s), total(t.predicted_s) "
                  "FROM replay_place p JOIN replay_part t ON t.run_id = p.run_id AND t.place = p.place "
                  "WHERE p.run_id = ?3 AND p.rank >= 0 AND p.rank < ?2 GROUP BY 1, 2",
                  "iii", bins->width, bins->ranks, replay->id);
    while (cursor_next(&rows))
        take(&sums[cursor_integer(&rows, 0)], cursor_text(&rows, 1, &pool), cursor_real(&rows, 2),
             cursor_real(&rows, 3));
    for (int64_t bin = 0; bin < bins->n; bin++) {
        double parts[SHARES];
        divide(&sums[bin], parts);
        add_bar(picture, bins, bin, part_title, parts, SHARES);
    }
    picture_note(
        picture,
        "By the stored replay on machine %s, law %s, collectives %s%s%s. Times are measured; a transfer is divided as "
        "the model divides it, and what it took beyond the model is not explained.",
        replay->machine, replay->law, replay->collectives, replay->options[0] != '\0' ? ", " : "", replay->options);
    free(sums);
    pool_release(&pool);
    return cursor_close(&rows);
}

static int of_calls(struct picture *picture, const struct picture_source *source)
{
    const struct rank_bins *bins = &source->bins;
    double *parts = xcalloc((size_t)bins->n * SPENT_COUNT, sizeof *parts), in_mpi_s = 0;
    for (size_t i = 0; i < source->report->n_ranks; i++) {
        const struct report_rank *rank = &source->report->ranks[i];
        for (size_t kind = 0; kind < SPENT_COUNT && rank->rank >= 0 && rank->rank < bins->ranks; kind++) {
            parts[(size_t)(rank->rank / bins->width) * SPENT_COUNT + kind] += rank->activity_s[kind];
            in_mpi_s += kind > SPENT_COMPUTATION && kind <= SPENT_OTHER ? rank->activity_s[kind] : 0;
        }
    }
    for (int64_t bin = 0; bin < bins->n; bin++)
        add_bar(picture, bins, bin, activity_name, parts + bin * SPENT_COUNT, SPENT_COUNT);
    free(parts);
    if (!(in_mpi_s > 0))
        picture_lacks(picture, "Calls of MPI were not recorded, and no replay is stored.");
    else
        picture_note(
            picture,
            "Measured, by what calls are for; a wait counts as point-to-point. 'mpistair replay %s --machine NAME' "
            "divides transfers by cause, and says what no model explains.",
            source->report->path);
    return 0;
}

int picture_ranks(struct picture *picture, const struct picture_source *source)
{
    const struct rank_bins *bins = &source->bins;
    bool replayed = source->report->replay.id >= 0;
    struct json *order = json_array();
    picture_table(picture, "part", "rank part time place");
    int result = replayed ? of_replay(picture, source) : of_calls(picture, source);
    const char *const *titles = replayed ? part_title : activity_name;
    for (size_t i = 0; i < (replayed ? (size_t)SHARES : (size_t)SPENT_COUNT); i++)
        json_add(order, json_string(titles[i]));
    picture_value(picture, "order", order);
    picture_bins(picture, bins, "bar");
    if (bins->width > 1)
        picture_note(picture, "Times are means over the ranks of a bar.");
    return result;
}

/* The course of the run: of each part of it the share that ranks spend inside MPI, in messages, and in collectives. */
enum { COURSE_COLUMNS = 120, COURSE_SHARES = 3, COURSE_REGIONS = 8 };

struct course_cell {
    double all_s, share_s[COURSE_SHARES];
};

static void course_add(struct course_cell *columns, struct cursor *rows, double first_s, double run_s)
{
    double begin_s = fmax(cursor_real(rows, 1) - first_s, 0), end_s = fmin(cursor_real(rows, 2) - first_s, run_s);
    double column_s = run_s / COURSE_COLUMNS, window_s = cursor_real(rows, 2) - cursor_real(rows, 1);
    if (!(begin_s < end_s && window_s > 0)) /* a damaged trace */
        return;
    for (size_t i = (size_t)(begin_s / column_s); i < COURSE_COLUMNS && (double)i * column_s < end_s; i++) {
        double part_s = fmin(end_s, (double)(i + 1) * column_s) - fmax(begin_s, (double)i * column_s);
        columns[i].all_s += fmax(part_s, 0);
        for (int k = 0; k < COURSE_SHARES; k++)
            columns[i].share_s[k] += fmax(part_s, 0) * fmin(cursor_real(rows, 3 + k) / window_s, 1);
    }
}

/* Adds a band for each of the regions with most time: what share of all ranks' time they are in it, by columns. */
static int course_regions(struct picture *picture, const struct picture_source *source, double first_s, double run_s)
{
    double *share_s = xcalloc(COURSE_REGIONS * COURSE_COLUMNS, sizeof *share_s), column_s = run_s / COURSE_COLUMNS;
    struct json *paths = json_array();
    struct cursor rows;
    struct pool pool = {0};
    int64_t last = -1;
    picture_table(picture, "band", "region from to share");
    picture_query(
        &rows, source,
        "WITH shown AS MATERIALIZED (SELECT region, row_number() OVER (ORDER BY depth, time_ns DESC, region) - 1 "
        "AS place, path FROM (SELECT region, sum(time_ns) AS time_ns, depth, path FROM region_total JOIN region "
        "ON id = region GROUP BY region HAVING sum(time_ns) > 0 ORDER BY sum(time_ns) DESC, region LIMIT ?1)) "
        "SELECT place, path, begin_ns * 1e-9, end_ns * 1e-9 FROM shown LEFT JOIN occurrence USING (region) "
        "ORDER BY place",
        "i", (int64_t)COURSE_REGIONS);
    while (cursor_next(&rows)) {
        int64_t place = cursor_integer(&rows, 0);
        double begin_s = fmax(cursor_real(&rows, 2) - first_s, 0), end_s = fmin(cursor_real(&rows, 3) - first_s, run_s);
        if (place != last) {
            json_add(paths, json_string(cursor_text(&rows, 1, &pool)));
            last = place;
        }
        if (!(begin_s < end_s) || !(run_s > 0))
            continue;
        for (size_t i = (size_t)(begin_s / column_s); i < COURSE_COLUMNS && (double)i * column_s < end_s; i++)
            share_s[place * COURSE_COLUMNS + (int64_t)i] +=
                fmax(fmin(end_s, (double)(i + 1) * column_s) - fmax(begin_s, (double)i * column_s), 0);
    }
    for (int64_t i = 0; run_s > 0 && i < (last + 1) * COURSE_COLUMNS; i++) {
        double from_s = first_s + (double)(i % COURSE_COLUMNS) * column_s;
        if (share_s[i] > 0)
            picture_row(picture, "iddd", i / COURSE_COLUMNS, from_s, from_s + column_s,
                        fmin(share_s[i] / column_s / (double)source->bins.ranks, 1));
    }
    picture_value(picture, "bands", json_integer(last + 1));
    picture_value(picture, "paths", paths);
    if (last >= 0)
        picture_note(picture, "Bands are the regions with most time: the fuller the more of the ranks are in them.");
    pool_release(&pool);
    free(share_s);
    return cursor_close(&rows);
}

int picture_course(struct picture *picture, const struct picture_source *source)
{
    const struct rank_bins *bins = &source->bins;
    double begin_ns = 0, end_ns = 0;
    if (picture_span(source, &begin_ns, &end_ns) != 0)
        return -1;
    double first_s = begin_ns * 1e-9, run_s = (end_ns - begin_ns) * 1e-9;
    struct course_cell *cells = xcalloc((size_t)bins->n * COURSE_COLUMNS, sizeof *cells);
    struct cursor rows;
    bool found = false;
    picture_table(picture, "cell", "rank from to inside messages collectives");
    picture_query(
        &rows, source,
        "SELECT rank / ?1, begin_ns * 1e-9, end_ns * 1e-9, 1e-9 * (point_to_point_ns + wait_ns + idle_ns + "
        "collective_ns + one_sided_ns + file_ns + other_ns), 1e-9 * (point_to_point_ns + wait_ns + idle_ns), 1e-9 * "
        "collective_ns FROM course WHERE rank >= 0 AND rank < ?2 AND end_ns > begin_ns",
        "ii", bins->width, bins->ranks);
    while (cursor_next(&rows) && run_s > 0)
        course_add(cells + cursor_integer(&rows, 0) * COURSE_COLUMNS, &rows, first_s, run_s);
    for (int64_t i = 0; i < bins->n * COURSE_COLUMNS; i++) {
        const struct course_cell *cell = &cells[i];
        double from_s = first_s + (double)(i % COURSE_COLUMNS) * run_s / COURSE_COLUMNS;
        if (!(cell->all_s > 0))
            continue;
        found = true;
        picture_row(picture, "iddddd", i / COURSE_COLUMNS * bins->width, from_s, from_s + run_s / COURSE_COLUMNS,
                    cell->share_s[0] / cell->all_s, cell->share_s[1] / cell->all_s, cell->share_s[2] / cell->all_s);
    }
    free(cells);
    if (!found)
        picture_lacks(picture, "The trace has no course of the run.");
    picture_value(picture, "begin", json_finite(first_s));
    picture_value(picture, "end", json_finite(first_s + run_s));
    picture_bins(picture, bins, "row");
    int result = cursor_close(&rows);
    return result == 0 ? course_regions(picture, source, first_s, run_s) : result;
}

/* The efficiencies of each window of the course, and for whom others waited longest in it. */
int picture_efficiency(struct picture *picture, const struct picture_source *source)
{
    struct cursor rows;
    bool found = false;
    double begin_ns = 0, end_ns = 0;
    if (picture_span(source, &begin_ns, &end_ns) != 0)
        return -1;
    picture_table(picture, "window", "from to parallel balance communication most");
    picture_query(&rows, source,
                  "SELECT begin_s, end_s, parallel, load_balance, communication, most_rank FROM window_efficiency "
                  "WHERE number >= ?1 ORDER BY number",
                  "i", (int64_t)0);
    while (cursor_next(&rows)) {
        found = true;
        picture_row(picture, "dddddi", cursor_real(&rows, 0), cursor_real(&rows, 1), cursor_real(&rows, 2),
                    cursor_real(&rows, 3), cursor_real(&rows, 4), cursor_integer(&rows, 5));
    }
    if (!found)
        picture_lacks(picture, "The trace has no course of the run.");
    picture_value(picture, "begin", json_finite(begin_ns * 1e-9));
    picture_value(picture, "end", json_finite(end_ns * 1e-9));
    picture_note(picture, "Parallel efficiency is load balance times communication efficiency; the run's is the mean "
                          "of its windows. 'mpistair query TRACE windows' adds for whom others waited in each.");
    return cursor_close(&rows);
}

/* What the critical path of the stored replay is made of: calls by place in the source, and ranks. */
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

static int read_path_places(struct picture *picture, const struct picture_source *source, size_t *n)
{
    struct cursor rows;
    struct pool pool = {0};
    picture_table(picture, "place", "place label function caller line critical blamed ranks rank");
    picture_query(&rows, source, by_place, "ii", source->report->replay.id, (int64_t)MOST_PATH_CALLS);
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

int picture_path(struct picture *picture, const struct picture_source *source)
{
    const struct report_replay *replay = &source->report->replay;
    struct cursor rows;
    size_t n = 0;
    if (replay->id < 0) {
        picture_lacks(picture, "No replay is stored: 'mpistair replay %s --machine NAME' makes one.",
                      source->report->path);
        return 0;
    }
    if (read_path_places(picture, source, &n) != 0)
        return -1;
    picture_table(picture, "rank", "rank critical blamed");
    picture_query(&rows, source, by_rank, "iii", replay->id, source->bins.width, source->bins.ranks);
    while (cursor_next(&rows))
        picture_row(picture, "idd", cursor_integer(&rows, 0) * source->bins.width, cursor_real(&rows, 1),
                    cursor_real(&rows, 2));
    if (n == 0)
        picture_lacks(picture, "The stored replay has no critical path.");
    else if (n == MOST_PATH_CALLS)
        picture_note(picture, "The %d longest calls are shown.", MOST_PATH_CALLS);
    picture_value(picture, "all", json_finite(replay->predicted_s));
    picture_note(picture,
                 "Computation counts for the call behind it. Blamed: waiting of other ranks that began there.");
    picture_bins(picture, &source->bins, "bar of the strip");
    return cursor_close(&rows);
}

/* The measured and the modelled time of each rank, by model. Of more ranks than POINTS, those that lie together on a
 * grid of logarithms become one point. */
enum { POINTS = 512, STEPS = 40 }; /* of the grid in a decade */

struct point {
    int64_t x, y, rank; /* places on the grid */
    double measured_s, modelled_s, low_s, high_s;
    int64_t ranks;
};

static int scatter_by_place(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    return ORDER(a->x, b->x) ?: ORDER(a->y, b->y);
}

/* Makes one point of those at the same place; returns how many are left. Times are means. */
static size_t join(struct point *points, size_t n)
{
    size_t joined = 0;
    qsort(points, n, sizeof *points, scatter_by_place);
    for (size_t i = 0; i < n; i++) {
        if (joined == 0 || scatter_by_place(&points[joined - 1], &points[i]) != 0) {
            points[joined++] = points[i];
            continue;
        }
        struct point *into = &points[joined - 1];
        double share = 1.0 / (double)++into->ranks;
        into->measured_s += (points[i].measured_s - into->measured_s) * share;
        into->modelled_s += (points[i].modelled_s - into->modelled_s) * share;
        into->low_s = into->high_s = NAN;
    }
    return joined;
}

static size_t points_of(struct point *points, const struct report *report, size_t model)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct report_rank *rank = &report->ranks[i];
        struct point point = {.rank = rank->rank,
                              .measured_s = rank->models[model].actual_s,
                              .modelled_s = rank->models[model].model_s,
                              .low_s = rank->models[model].low_s,
                              .high_s = rank->models[model].high_s,
                              .ranks = 1};
        /* Zero has no place on an axis of logarithms. */
        if (!(point.measured_s > 0 && point.modelled_s > 0 && point.measured_s < 1e15 && point.modelled_s < 1e15))
            continue;
        point.x = (int64_t)floor(log10(point.modelled_s) * STEPS);
        point.y = (int64_t)floor(log10(point.measured_s) * STEPS);
        points[n++] = point;
    }
    return report->n_ranks > POINTS ? join(points, n) : n;
}

static void add_model(struct picture *picture, const struct report *report, size_t model, struct point *points,
                      struct json *names)
{
    size_t n = points_of(points, report, model);
    const char *title = report->models[model].title, *machine = report->models[model].machine;
    if (n == 0)
        return;
    char *name = xasprintf("%s on %s", title, machine);
    for (size_t i = 0; i < n; i++)
        picture_row(picture, "tiidddd", name, points[i].rank, points[i].ranks, points[i].measured_s,
                    points[i].modelled_s, points[i].low_s, points[i].high_s);
    json_add(names, json_string(name));
    free(name);
}

int picture_scatter(struct picture *picture, const struct picture_source *source)
{
    const struct report *report = source->report;
    struct point *points = xcalloc(report->n_ranks, sizeof *points);
    size_t best = report_best_model(report);
    struct json *names = json_array();
    picture_table(picture, "point", "model rank ranks measured modelled low high");
    if (best < report->n_models)
        add_model(picture, report, best, points, names); /* the first one is shown first */
    for (size_t model = 0; model < report->n_models; model++)
        if (model != best)
            add_model(picture, report, model, points, names);
    free(points);
    if (json_size(names) == 0)
        picture_lacks(picture,
                      "No predictions are stored: 'mpistair predict %s --machine NAME --model all' makes them.",
                      report->path);
    picture_value(picture, "models", names);
    picture_value(picture, "replicate", json_finite(isfinite(report->replicate_error) ? report->replicate_error : 0));
    if (isfinite(report->replicate_error))
        picture_note(
            picture,
            "The band is the replicate error, %.3g %% (%s): points within it cannot be distinguished from the line.",
            report->replicate_error * 100, report->replicate_basis);
    if (best < report->n_models && report->models[best].withheld)
        picture_note(picture, "Rounds overlap, and the models take them one by one: distances from the line are no "
                              "errors of the models.");
    if (report->n_ranks > POINTS)
        picture_note(picture, "Ranks whose times are nearly equal are one point, larger the more there are.");
    return 0;
}
