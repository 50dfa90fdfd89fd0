/* A peak is looked for in two steps: a generous look finds the first n that may have reached it, and then each that the
 * values behind it contradict is passed. */
#include "calibrate/fit/memory_estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "calibrate/fit/line.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

/* Standard errors of a difference: half a 95 % interval, and what hardly ever happens by chance. */
#define ALIKE    1.96
#define GENEROUS 3.0
#define FAR      4.5 /* the largest of many values is itself some above what it should be */
enum { MOST_KNOTS = 3 };

/* A curve: what was measured at each n. */
struct curve_points {
    size_t count;
    double *n;
    struct pool_value *values;
};

/* A line that is straight between its knots, which are n of the curve. */
struct broken_line {
    size_t n_knots;
    double n[MOST_KNOTS];
    double value[MOST_KNOTS], error[MOST_KNOTS];
};

static void add_knot(struct broken_line *line, double n)
{
    if (line->n_knots == 0 || n > line->n[line->n_knots - 1])
        line->n[line->n_knots++] = n;
}

/* Returns how much of a knot's value the line has at n. */
static double part_of(const struct broken_line *line, size_t knot, double n)
{
    double at = line->n[knot];
    if (n < at)
        return knot > 0 ? fmax(0, (n - line->n[knot - 1]) / (at - line->n[knot - 1])) : 1;
    if (n > at)
        return knot + 1 < line->n_knots ? fmax(0, (line->n[knot + 1] - n) / (line->n[knot + 1] - at)) : 1;
    return 1;
}

static double line_at(const struct broken_line *line, double n)
{
    double value = 0;
    for (size_t knot = 0; knot < line->n_knots; knot++)
        value += part_of(line, knot, n) * line->value[knot];
    return value;
}

/* Fits the knots' values by weighted least squares to the points from first on. Every knot is a point, so that the
 * normal equations have a solution: they are solved, and their matrix is inverted, by Gauss and Jordan. */
static void fit_knots(struct broken_line *line, const struct curve_points *points, size_t first)
{
    size_t n = line->n_knots;
    double rows[MOST_KNOTS][2 * MOST_KNOTS + 1] = {0}; /* matrix, unit matrix, right side */
    for (size_t i = first; i < points->count; i++) {
        const struct pool_value *value = &points->values[i];
        double weight = 1 / (value->error * value->error);
        for (size_t row = 0; row < n; row++) {
            double part = weight * part_of(line, row, points->n[i]);
            for (size_t column = 0; column < n; column++)
                rows[row][column] += part * part_of(line, column, points->n[i]);
            rows[row][2 * n] += part * value->value;
        }
    }
    for (size_t row = 0; row < n; row++)
        rows[row][n + row] = 1;
    for (size_t pivot = 0; pivot < n; pivot++) /* the matrix is positive definite: its diagonal is never 0 */
        for (size_t row = 0; row < n; row++) {
            double factor = row == pivot ? 1 - 1 / rows[pivot][pivot] : rows[row][pivot] / rows[pivot][pivot];
            for (size_t column = 2 * n + 1; column-- > 0;)
                rows[row][column] -= factor * rows[pivot][column];
        }
    for (size_t knot = 0; knot < n; knot++) {
        line->value[knot] = rows[knot][2 * n];
        line->error[knot] = sqrt(rows[knot][n + knot]);
    }
}

/* Makes the line through the points from first on that bends at bend (0: nowhere), and gives way to the measured values
 * where it does not describe them. */
static void line_behind(struct broken_line *line, const struct curve_points *points, size_t first, double bend)
{
    size_t count = points->count - first;
    double *expected = xcalloc(count, sizeof *expected);
    *line = (struct broken_line){.n_knots = 0};
    add_knot(line, points->n[first]);
    if (bend < points->n[points->count - 1])
        add_knot(line, bend);
    add_knot(line, points->n[points->count - 1]);
    fit_knots(line, points, first);
    for (size_t i = 0; i < count; i++)
        expected[i] = line_at(line, points->n[first + i]);
    double share = pool_share(&points->values[first], expected, count, count - line->n_knots);
    for (size_t knot = 0, i = first; knot < line->n_knots; knot++) {
        while (points->n[i] < line->n[knot])
            i++;
        line->value[knot] = share * line->value[knot] + (1 - share) * points->values[i].value;
        line->error[knot] = share * line->error[knot] + (1 - share) * points->values[i].error;
    }
    free(expected);
}

/* Whether a value is below another one by more than so many standard errors. */
static bool is_below(const struct pool_value *value, const struct pool_value *other, double errors)
{
    return value->value < other->value - errors * hypot(value->error, other->error);
}

/* Returns the value of a point on the way to the maximum behind it, of which values rise on a straight line: as
 * measured, and as that line or the maximum has it, weighed by their errors as far as both are alike. */
static struct pool_value on_the_way(const struct curve_points *points, size_t at, const struct pool_value *behind,
                                    double *room)
{
    struct pool_value measured = points->values[at], told;
    if (at < 3)
        return measured;
    double *weights = room, *values = room + at, *expected = room + 2 * at;
    for (size_t i = 0; i < at; i++) {
        weights[i] = 1 / (points->values[i].error * points->values[i].error);
        values[i] = points->values[i].value;
    }
    struct weighted_line line = weighted_line_fit(points->n, values, weights, at);
    for (size_t i = 0; i < at; i++)
        expected[i] = line.intercept + line.slope * points->n[i];
    double share = pool_share(points->values, expected, at, at - 2);
    double n = points->n[at];
    told.value = line.intercept + line.slope * n;
    told.error = sqrt(line.var_intercept + n * (2 * line.covariance + line.var_slope * n));
    if (told.value > behind->value)
        told = *behind;
    told.error /= sqrt(share);
    if (is_below(&told, &measured, GENEROUS) || is_below(&measured, &told, GENEROUS))
        return measured;
    const struct pool_value both[] = {measured, told};
    return (struct pool_value){pool_mean(both, 2), 1 / hypot(1 / measured.error, 1 / told.error)};
}

/* Returns the smallest n at which the curve has reached its maximum, and the line from there on, which may bend. */
static size_t find_peak(const struct curve_points *points, double bend, struct broken_line *line)
{
    size_t largest = 0, first = 0;
    double *room = xcalloc(3 * points->count, sizeof *room);
    for (size_t i = 1; i < points->count; i++)
        if (points->values[i].value > points->values[largest].value)
            largest = i;
    while (is_below(&points->values[first], &points->values[largest], FAR))
        first++;
    for (; first < largest; first++) {
        line_behind(line, points, first + 1, bend);
        const struct pool_value behind = {line->value[0], line->error[0]};
        struct pool_value own = on_the_way(points, first, &behind, room);
        if (!is_below(&own, &behind, ALIKE))
            break;
    }
    free(room);
    line_behind(line, points, first, bend);
    return first;
}

/* Returns the mean of the smallest values, those that are alike within their intervals. */
static double mean_of_smallest(const struct curve_points *points, struct pool_value *alike)
{
    const struct pool_value *smallest = &points->values[0];
    size_t n_alike = 0;
    for (size_t i = 1; i < points->count; i++)
        if (points->values[i].value < smallest->value)
            smallest = &points->values[i];
    for (size_t i = 0; i < points->count; i++)
        if (!is_below(smallest, &points->values[i], ALIKE))
            alike[n_alike++] = points->values[i];
    return pool_mean(alike, n_alike);
}

/* The three curves over the same n. */
struct curves_of_side {
    struct curve_points alone, totals, shares;
    struct pool_value *alike; /* room for as many */
};

static struct curve_points curve_new(size_t count)
{
    return (struct curve_points){count, xcalloc(count, sizeof(double)), xcalloc(count, sizeof(struct pool_value))};
}

static void side_curves_release(struct curves_of_side *curves)
{
    struct curve_points *all[] = {&curves->alone, &curves->totals, &curves->shares};
    for (int i = 0; i < 3; i++) {
        free(all[i]->n);
        free(all[i]->values);
    }
    free(curves->alike);
}

static void side_curves_make(struct curves_of_side *curves, const struct memory_step *steps, size_t n_steps,
                             double message_alone)
{
    *curves = (struct curves_of_side){curve_new(n_steps), curve_new(n_steps), curve_new(n_steps),
                                      xcalloc(n_steps, sizeof *curves->alike)};
    for (size_t i = 0; i < n_steps; i++) {
        const struct memory_step *step = &steps[i];
        curves->alone.n[i] = curves->totals.n[i] = curves->shares.n[i] = step->n;
        curves->alone.values[i] = (struct pool_value){step->alone, step->alone_error};
        curves->totals.values[i] =
            (struct pool_value){step->computation + step->message, hypot(step->computation_error, step->message_error)};
        curves->shares.values[i] =
            (struct pool_value){step->message / message_alone, step->message_error / message_alone};
    }
}

/* Finds both peaks and the lines from there on. Computation alone needs no fewer cores for its maximum than it needs
 * beside a message: of its alike values the smallest n is taken from N_par on, where that is one of them. */
static void find_peaks(const struct curves_of_side *curves, size_t *at_seq, struct broken_line *alone, size_t *at_par,
                       struct broken_line *together)
{
    const struct curve_points *totals = &curves->totals;
    *at_seq = find_peak(&curves->alone, 0, alone);
    *at_par = find_peak(totals, totals->n[*at_seq], together);
    const struct pool_value peak = {alone->value[0], alone->error[0]};
    if (*at_seq >= *at_par || is_below(&curves->alone.values[*at_par], &peak, ALIKE))
        return;
    *at_seq = *at_par;
    line_behind(alone, &curves->alone, *at_seq, 0);
    line_behind(together, totals, *at_par, 0);
}

void memory_estimate(const struct memory_step *steps, size_t n_steps, double message_alone,
                     double values[MEMORY_PARAMETER_COUNT])
{
    struct curves_of_side curves;
    struct broken_line alone, together;
    size_t at_seq, at_par;
    side_curves_make(&curves, steps, n_steps, message_alone);
    find_peaks(&curves, &at_seq, &alone, &at_par, &together);
    double n_seq = steps[at_seq].n, n_par = steps[at_par].n, last = steps[n_steps - 1].n;
    double most = together.value[0];
    double bend = n_seq < n_par ? curves.totals.values[at_seq].value : line_at(&together, n_seq);
    if (bend > most) /* nothing is above the maximum: both are it */
        most = bend = (most + bend) / 2;
    values[MEMORY_CORES_PAR] = n_par;
    values[MEMORY_TOTAL_PAR] = most;
    values[MEMORY_CORES_SEQ] = n_seq;
    values[MEMORY_TOTAL_SEQ] = fmax(alone.value[0], (alone.value[0] + line_at(&alone, last)) / 2);
    values[MEMORY_TOTAL_PAR2] = bend;
    values[MEMORY_ALPHA] = fmin(mean_of_smallest(&curves.shares, curves.alike), 1);
    values[MEMORY_LOSS_LEFT] = at_seq == at_par ? 0 : (most - bend) / (n_seq - n_par);
    values[MEMORY_LOSS_RIGHT] = n_seq < last ? (bend - line_at(&together, last)) / (last - n_seq) : 0;
    values[MEMORY_ONE_CORE] = steps[0].alone;
    values[MEMORY_ONE_MESSAGE] = message_alone;
    side_curves_release(&curves);
}
