/* Collects the measured and the modelled time of each rank, by model. Of more ranks than POINTS, those that lie
 * together on a grid of logarithms become one point. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/html/pictures.h"
#include "share/base/memory.h"
#include "share/base/order.h"

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

int picture_scatter(struct picture *picture, const struct picture_source *source, struct error *error)
{
    (void)error;
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
