#include "segment.h"

#include <math.h>
#include <stdlib.h>

/* A time is not known better than to 0.1 %: exact lines would else be cut by their rounding. */
#define RELATIVE_FLOOR 1e-3L

/* Weighted sums over the first i points, weights 1/y^2: the sum of relative residuals squared of any piece in O(1).
 * Long double, because a piece is a difference of sums of very different points. */
struct sums {
    long double w, wx, wxx, wy, wxy;
};

static long double piece_cost(const struct sums *sums, size_t first, size_t end)
{
    const struct sums *a = &sums[first], *b = &sums[end];
    long double w = b->w - a->w, wx = b->wx - a->wx, wy = b->wy - a->wy;
    long double mean_x = wx / w, mean_y = wy / w;
    long double sxx = b->wxx - a->wxx - mean_x * wx;
    long double sxy = b->wxy - a->wxy - mean_x * wy;
    long double syy = (long double)(end - first) - mean_y * wy; /* w y^2 = 1 a point */
    long double rss = sxx > 0 ? syy - sxy * sxy / sxx : syy;
    return fmaxl(rss, 0) + (long double)(end - first) * RELATIVE_FLOOR * RELATIVE_FLOOR;
}

static long double criterion(long double cost, size_t n_points, int n_segments)
{
    long double n = (long double)n_points;
    return n * logl(cost / n) + (long double)(3 * n_segments - 1) * logl(n);
}

/* Cheapest cut of [0, end) into two pieces; the cost, and where. INFINITY where there is no room. */
static long double cut_in_two(const struct sums *sums, size_t end, size_t *cut)
{
    long double best = INFINITY;
    for (size_t i = SEGMENT_MIN_POINTS; i + SEGMENT_MIN_POINTS <= end; i++) {
        long double cost = piece_cost(sums, 0, i) + piece_cost(sums, i, end);
        if (cost < best) {
            best = cost;
            *cut = i;
        }
    }
    return best;
}

int segment_find(const double *x, const double *y, size_t n_points, int max_segments, size_t begin[SEGMENT_MAX])
{
    begin[0] = 0;
    if (n_points > SEGMENT_MAX_POINTS)
        return -1;
    if (n_points < 2 * SEGMENT_MIN_POINTS || max_segments < 2)
        return 1;
    struct sums *sums = calloc(n_points + 1, sizeof *sums);
    if (sums == NULL)
        return -1;
    for (size_t i = 0; i < n_points; i++) {
        long double xi = x[i], yi = y[i], w = 1 / (yi * yi);
        sums[i + 1] = (struct sums){.w = sums[i].w + w,
                                    .wx = sums[i].wx + w * xi,
                                    .wxx = sums[i].wxx + w * xi * xi,
                                    .wy = sums[i].wy + w * yi,
                                    .wxy = sums[i].wxy + w * xi * yi};
    }
    int n_segments = 1;
    long double best = criterion(piece_cost(sums, 0, n_points), n_points, 1);
    size_t cut = 0;
    long double cost = cut_in_two(sums, n_points, &cut);
    if (criterion(cost, n_points, 2) < best) {
        best = criterion(cost, n_points, 2);
        n_segments = 2;
        begin[1] = cut;
    }
    for (size_t last = 2 * SEGMENT_MIN_POINTS; max_segments > 2 && last + SEGMENT_MIN_POINTS <= n_points; last++) {
        cost = cut_in_two(sums, last, &cut) + piece_cost(sums, last, n_points);
        if (criterion(cost, n_points, 3) < best) {
            best = criterion(cost, n_points, 3);
            n_segments = 3;
            begin[1] = cut;
            begin[2] = last;
        }
    }
    free(sums);
    return n_segments;
}
