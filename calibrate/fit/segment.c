/* All cuts of all curves are tried, so a piece must cost O(1): running sums give the residuals of any piece. */
#include "calibrate/fit/segment.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/line.h"
#include "share/base/memory.h"

/* A time is not known better than to 0.1 %; without this limit exact lines would be cut by their rounding. */
#define RELATIVE_FLOOR 1e-3L

/* Weighted sums over the first i points, weights 1/y^2: they give the sum of relative residuals squared of any
 * piece in O(1). They are long double, because a piece is a difference of sums of very different points. */
struct sums {
    long double w, wx, wxx, wy, wxy;
};

/* What the search needs of all curves. */
struct segment_search {
    const struct segment_curve *curves;
    size_t n_curves;
    size_t differ_min;
    bool steps_only;
    struct sums **sums; /* [n_curves][n_points + 1] */
    const double *cuts; /* [n_cuts] sizes where a piece may begin: those of the curve with the most points */
    size_t n_cuts;
    size_t **index; /* [n_curves][n_cuts] first point of the curve at or above the cut */
};

/* The line of a piece, with the errors of a point of variance 1. */
struct piece {
    long double w, mean_x, mean_y, sxx, slope;
    long double rss;
};

static struct piece piece_fit(const struct sums *sums, size_t first, size_t end)
{
    const struct sums *a = &sums[first], *b = &sums[end];
    long double w = b->w - a->w, wx = b->wx - a->wx, wy = b->wy - a->wy;
    long double mean_x = wx / w, mean_y = wy / w;
    long double sxx = b->wxx - a->wxx - mean_x * wx;
    long double sxy = b->wxy - a->wxy - mean_x * wy;
    long double syy = (long double)(end - first) - mean_y * wy; /* w y^2 = 1 a point */
    long double rss = sxx > 0 ? syy - sxy * sxy / sxx : syy;
    return (struct piece){
        .w = w,
        .mean_x = mean_x,
        .mean_y = mean_y,
        .sxx = sxx,
        .slope = sxx > 0 ? sxy / sxx : 0,
        .rss = fmaxl(rss, 0) + (long double)(end - first) * RELATIVE_FLOOR * RELATIVE_FLOOR,
    };
}

/* Whether the lines below and above the cut differ, for points of that variance and so many sigma. */
static bool pieces_differ(const struct piece *below, const struct piece *above, double cut, long double variance,
                          double sigmas, bool steps_only)
{
    long double x = cut, y_below = below->mean_y + below->slope * (x - below->mean_x),
                y_above = above->mean_y + above->slope * (x - above->mean_x), jump = fabsl(y_above - y_below);
    long double jump_variance = variance * (1 / below->w + (x - below->mean_x) * (x - below->mean_x) / below->sxx +
                                            1 / above->w + (x - above->mean_x) * (x - above->mean_x) / above->sxx);
    bool beyond_chance = jump > sigmas * sqrtl(jump_variance);
    if (steps_only)
        return beyond_chance && y_above >= (1 + SEGMENT_STEP) * y_below;
    if (beyond_chance && jump >= SEGMENT_JUMP * y_below)
        return true;
    long double half_below = sigmas * sqrtl(variance / below->sxx), half_above = sigmas * sqrtl(variance / above->sxx);
    return below->slope > half_below && above->slope > half_above &&
           fabsl(above->slope - below->slope) > half_below + half_above;
}

/* Returns the sum over the curves of n ln(RSS/n) for pieces that begin at the given cuts; INFINITY where a piece is too
 * short. */
static double misfit(const struct segment_search *search, int n_segments, const size_t *cut)
{
    double sum = 0;
    for (size_t i = 0; i < search->n_curves; i++) {
        size_t n_points = search->curves[i].n_points, first = 0;
        long double rss = 0;
        for (int segment = 0; segment < n_segments; segment++) {
            size_t end = segment + 1 < n_segments ? search->index[i][cut[segment]] : n_points;
            if (n_segments > 1 && end < first + SEGMENT_MIN_POINTS)
                return INFINITY;
            rss += piece_fit(search->sums[i], first, end).rss;
            first = end;
        }
        sum += (double)n_points * log((double)rss / (double)n_points);
    }
    return sum;
}

/* Adds to differ[] which of the n_segments - 1 cuts make a difference in this curve. */
static void count_differences(const struct segment_search *search, size_t curve, int n_segments, const size_t *cut,
                              size_t *differ)
{
    struct piece piece[SEGMENT_MAX];
    size_t n_points = search->curves[curve].n_points, first = 0;
    size_t degrees = n_points - 2 * (size_t)n_segments; /* a piece has three points or more */
    long double rss = 0;
    for (int i = 0; i < n_segments; i++) {
        size_t end = i + 1 < n_segments ? search->index[curve][cut[i]] : n_points;
        piece[i] = piece_fit(search->sums[curve], first, end);
        rss += piece[i].rss;
        first = end;
    }
    for (int i = 0; i + 1 < n_segments; i++)
        differ[i] += pieces_differ(&piece[i], &piece[i + 1], search->cuts[cut[i]], rss / (long double)degrees,
                                   line_quantile(degrees), search->steps_only);
}

static bool identifiable(const struct segment_search *search, int n_segments, const size_t *cut)
{
    size_t differ[SEGMENT_MAX] = {0};
    for (size_t curve = 0; n_segments > 1 && curve < search->n_curves; curve++)
        count_differences(search, curve, n_segments, cut, differ);
    for (int i = 0; i + 1 < n_segments; i++)
        if (differ[i] < search->differ_min)
            return false;
    return true;
}

static void consider(const struct segment_search *search, int n_segments, const size_t *cut, double log_points,
                     struct segmentation *best)
{
    int parameters = 2 * n_segments * (int)search->n_curves + n_segments - 1;
    double criterion = misfit(search, n_segments, cut) + parameters * log_points;
    if (!(criterion < best->criterion) || !identifiable(search, n_segments, cut))
        return;
    *best = (struct segmentation){.n = n_segments, .criterion = criterion};
    for (int i = 1; i < n_segments; i++)
        best->begin[i] = search->cuts[cut[i - 1]];
}

static struct sums *sums_make(const struct segment_curve *curve)
{
    struct sums *sums = xcalloc(curve->n_points + 1, sizeof *sums);
    for (size_t i = 0; i < curve->n_points; i++) {
        long double x = curve->x[i], y = curve->y[i], w = 1 / (y * y);
        sums[i + 1] = (struct sums){.w = sums[i].w + w,
                                    .wx = sums[i].wx + w * x,
                                    .wxx = sums[i].wxx + w * x * x,
                                    .wy = sums[i].wy + w * y,
                                    .wxy = sums[i].wxy + w * x * y};
    }
    return sums;
}

static size_t *index_make(const struct segment_search *search, const struct segment_curve *curve)
{
    size_t *index = xcalloc(search->n_cuts, sizeof *index);
    for (size_t cut = 0, point = 0; cut < search->n_cuts; cut++) {
        while (point < curve->n_points && curve->x[point] < search->cuts[cut])
            point++;
        index[cut] = point;
    }
    return index;
}

struct segmentation segment_find(const struct segment_curve *curves, size_t n_curves, size_t differ_min,
                                 bool steps_only, int max_segments, double log_points)
{
    struct segmentation found = {.n = 1, .criterion = INFINITY};
    const struct segment_curve *longest = &curves[0];
    for (size_t i = 1; i < n_curves; i++)
        if (curves[i].n_points > longest->n_points)
            longest = &curves[i];
    struct segment_search search = {.curves = curves,
                                    .n_curves = n_curves,
                                    .differ_min = differ_min,
                                    .steps_only = steps_only,
                                    .sums = xcalloc(n_curves, sizeof *search.sums),
                                    .cuts = longest->x,
                                    .n_cuts = longest->n_points,
                                    .index = xcalloc(n_curves, sizeof *search.index)};
    for (size_t i = 0; i < n_curves; i++) {
        search.sums[i] = sums_make(&curves[i]);
        search.index[i] = index_make(&search, &curves[i]);
    }
    consider(&search, 1, NULL, log_points, &found);
    for (size_t first = 1; max_segments >= 2 && first < search.n_cuts; first++) {
        size_t cut[SEGMENT_MAX - 1] = {first, 0};
        consider(&search, 2, cut, log_points, &found);
        for (cut[1] = first + SEGMENT_MIN_POINTS; max_segments >= 3 && cut[1] < search.n_cuts; cut[1]++)
            consider(&search, 3, cut, log_points, &found);
    }
    for (size_t i = 0; i < n_curves; i++) {
        free(search.sums[i]);
        free(search.index[i]);
    }
    free(search.sums);
    free(search.index);
    return found;
}
