/* The two sides are measured alike and fitted alike; a replicate of the samples is fitted as the samples were, and the
 * scatter of the replicates says both how well a point is known and how well a parameter is. */
#include "calibrate/fit/fit_memory.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/bootstrap.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"
#include "calibrate/machine/machine.h"
#include "calibrate/fit/line.h"

/* Finds the ten parameters of memory contention in the bandwidths of one side (share/doc/MODELS.md, Memory contention,
 * Calibration).
 *
 * D (section 3.1) takes maxima and minima of measured curves. With noise the largest of many alike values is too large
 * and stands anywhere among them, so:
 *   - A maximum is first reached at the smallest n that is not below what the values behind it say, within the 95 %
 *     interval of the difference.
 *   - The totals from N_par on lie on lines that meet at N_seq (D1): T_par, T_par2 and the last total are those of the
 *     lines through all of them, as far as chance explains their distances (pool_share), else as measured. The
 *     same holds for T_seq with one line.
 *   - alpha is the mean over the numbers of cores whose share is the smallest, within the interval.
 * Bandwidths are in B/s.
 *
 * A peak is looked for in two steps: a generous look finds the first n that may have reached it, and then each that the
 * values behind it contradict is passed. */

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

/* Returns whether a value is below another one by more than so many standard errors. */
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
static double mean_of_smallest(const struct curve_points *points)
{
    struct pool_value *alike = xcalloc(points->count, sizeof *alike);
    const struct pool_value *smallest = &points->values[0];
    size_t n_alike = 0;
    for (size_t i = 1; i < points->count; i++)
        if (points->values[i].value < smallest->value)
            smallest = &points->values[i];
    for (size_t i = 0; i < points->count; i++)
        if (!is_below(smallest, &points->values[i], ALIKE))
            alike[n_alike++] = points->values[i];
    double mean = pool_mean(alike, n_alike);
    free(alike);
    return mean;
}

#define MEMORY_SEED 20220210ul /* any; the same samples give the same table */
/* The least relative standard error: samples that are all alike are not known better. */
#define ERROR_LEAST 1e-6

/* What is measured with one number of cores. */
enum { ALONE, COMPUTATION, MESSAGE, N_MEASURED };

/* Where the points of one number of cores are. */
struct step_at {
    uint32_t n;
    size_t points[N_MEASURED];
};

/* The points of a side: data of computation and message on one NUMA node. */
struct fit_memory_side {
    enum level level;
    uint32_t numa;
    const struct memory_samples *samples;
    size_t message_alone;
    struct step_at *at; /* [n_steps] by n */
    size_t n_steps;
    double *n;                                /* [n_steps] of the three curves */
    struct curve_points alone, total, shares; /* shares: of the message, of what it has alone */
    double values[MEMORY_PARAMETER_COUNT];
    double *replicates; /* [MEMORY_PARAMETER_COUNT][BOOTSTRAP_REPLICATES] */
    struct line_value losses[2];
};

/* The points of all samples as drawn again and again, and behind these as measured. */
struct replicates {
    size_t n_points, n_launches;
    double *drawn; /* [BOOTSTRAP_REPLICATES + 1][n_points] */
    double *error; /* [n_points] standard error of each median */
};

static struct memory_place place_of(const struct fit_memory_side *side, enum memory_variant variant, uint32_t n)
{
    struct memory_place place = {variant, side->numa, side->numa, n};
    if (variant == MEMORY_MESSAGE_ALONE)
        place.computing_numa = MEMORY_NO_DATA;
    if (variant == MEMORY_COMPUTATION_ALONE)
        place.message_numa = MEMORY_NO_DATA;
    return place;
}

/* Finds a point; returns whether it was measured. */
static bool fit_memory_find(const struct fit_memory_side *side, enum memory_variant variant, uint32_t n, size_t *at)
{
    const struct memory_place place = place_of(side, variant, n);
    const struct memory_point *point = memory_samples_find(side->samples, &place);
    if (point != NULL)
        *at = (size_t)(point - side->samples->points);
    return point != NULL;
}

static int lacks(const struct fit_memory_side *side, enum memory_variant variant, uint32_t n, const char *expected,
                 struct error *error)
{
    return error_set(error, "no samples of %s with n = %u and data on NUMA node %u; expected %s: calibrate again",
                     memory_variant_name[variant], n, side->numa, expected);
}

/* Takes the points with n cores, if there are any. */
static int gather_step(struct fit_memory_side *side, uint32_t n, struct error *error)
{
    static const enum memory_variant variants[N_MEASURED] = {MEMORY_COMPUTATION_ALONE, MEMORY_COMPUTATION,
                                                             MEMORY_MESSAGE};
    struct step_at at = {.n = n};
    enum memory_variant missing = MEMORY_VARIANT_COUNT;
    int found = 0;
    for (int i = 0; i < N_MEASURED; i++) {
        if (fit_memory_find(side, variants[i], n, &at.points[i]))
            found++;
        else
            missing = variants[i];
    }
    if (found == 0)
        return 0;
    if (found < N_MEASURED)
        return lacks(side, missing, n, "computation_alone, computation and message of each number of cores", error);
    ARRAY_ADD(side->at, side->n_steps, at);
    return 0;
}

/* Collects a side's points. Returns 1, 0 where nothing of it was measured, or -1 with what is missing. */
static int gather(struct fit_memory_side *side, struct error *error)
{
    bool has_message = fit_memory_find(side, MEMORY_MESSAGE_ALONE, 0, &side->message_alone);
    for (uint32_t n = 1; n <= side->samples->cores; n++)
        if (gather_step(side, n, error) != 0)
            return -1;
    if (!has_message && side->n_steps == 0)
        return 0;
    if (!has_message)
        return lacks(side, MEMORY_MESSAGE_ALONE, 0, "the bandwidth of a message alone", error);
    if (side->n_steps == 0 || side->at[0].n != 1)
        return lacks(side, MEMORY_COMPUTATION_ALONE, 1, "every number of cores from 1 to the peak", error);
    side->n = xcalloc(side->n_steps, sizeof *side->n);
    for (size_t i = 0; i < side->n_steps; i++)
        side->n[i] = side->at[i].n;
    struct curve_points *const curves[] = {&side->alone, &side->total, &side->shares};
    for (int i = 0; i < 3; i++)
        *curves[i] = (struct curve_points){side->n_steps, side->n, xcalloc(side->n_steps, sizeof(struct pool_value))};
    side->replicates = xcalloc((size_t)MEMORY_PARAMETER_COUNT * BOOTSTRAP_REPLICATES, sizeof *side->replicates);
    return 1;
}

/* Draws all replicates. What the bootstrap draws are a sample's seconds: here these are B/s. */
static struct replicates fit_memory_draw(const struct memory_samples *all)
{
    size_t n_points = all->n_points;
    struct samples samples = {.samples = xcalloc(all->n_samples, sizeof *samples.samples), .n_samples = all->n_samples};
    struct curve curve = {.n_points = n_points,
                          .first = xcalloc(n_points, sizeof *curve.first),
                          .n_samples = xcalloc(n_points, sizeof *curve.n_samples)};
    struct replicates replicates = {.n_points = n_points,
                                    .drawn = xcalloc(n_points * (BOOTSTRAP_REPLICATES + 1), sizeof *replicates.drawn),
                                    .error = xcalloc(n_points, sizeof *replicates.error)};
    struct resampling resampling;
    for (size_t i = 0; i < all->n_samples; i++)
        samples.samples[i] = (struct sample){.seconds = all->samples[i].bytes_per_s, .launch = all->samples[i].launch};
    for (size_t i = 0; i < n_points; i++) {
        curve.first[i] = all->points[i].first;
        curve.n_samples[i] = all->points[i].n_samples;
        replicates.drawn[BOOTSTRAP_REPLICATES * n_points + i] = all->points[i].bytes_per_s;
    }
    resampling_init(&resampling, &samples, &(struct curves){&curve, 1}, STATISTIC_MEDIAN, MEMORY_SEED);
    for (size_t k = 0; k < BOOTSTRAP_REPLICATES; k++) {
        resampling_next(&resampling);
        memcpy(&replicates.drawn[k * n_points], resampling.curves.curves[0].seconds,
               n_points * sizeof *replicates.drawn);
    }
    replicates.n_launches = resampling.n_launches;
    resampling_release(&resampling);
    free(samples.samples);
    free(curve.first);
    free(curve.n_samples);
    return replicates;
}

/* Finds the standard errors of the medians. That of few samples is badly known itself, so each is at least the median
 * of those of its variant, relative to the bandwidth. */
static void find_errors(const struct memory_samples *samples, struct replicates *replicates)
{
    double *relative = xcalloc(samples->n_points, sizeof *relative);
    for (size_t first = 0, end; first < samples->n_points; first = end) {
        size_t count = 0;
        for (end = first;
             end < samples->n_points && samples->points[end].place.variant == samples->points[first].place.variant;
             end++) {
            double drawn[BOOTSTRAP_REPLICATES];
            for (size_t i = 0; i < BOOTSTRAP_REPLICATES; i++)
                drawn[i] = replicates->drawn[i * replicates->n_points + end];
            double deviation = sqrt(variance_of(drawn, BOOTSTRAP_REPLICATES));
            relative[count++] = replicates->error[end] = deviation / samples->points[end].bytes_per_s;
        }
        double usual = fmax(samples_reduce(relative, count, STATISTIC_MEDIAN), ERROR_LEAST);
        for (size_t i = first; i < end; i++)
            replicates->error[i] = fmax(replicates->error[i], usual) * samples->points[i].bytes_per_s;
    }
    free(relative);
}

/* Finds both peaks and the lines from there on. Computation alone needs no fewer cores for its maximum than it needs
 * beside a message: of its alike values the smallest n is taken from N_par on, where that is one of them. */
static void find_peaks(const struct fit_memory_side *side, size_t *at_seq, struct broken_line *alone, size_t *at_par,
                       struct broken_line *together)
{
    *at_seq = find_peak(&side->alone, 0, alone);
    *at_par = find_peak(&side->total, side->n[*at_seq], together);
    const struct pool_value peak = {alone->value[0], alone->error[0]};
    if (*at_seq >= *at_par || is_below(&side->alone.values[*at_par], &peak, ALIKE))
        return;
    *at_seq = *at_par;
    line_behind(alone, &side->alone, *at_seq, 0);
    line_behind(together, &side->total, *at_par, 0);
}

/* Estimates a side's parameters from bandwidths of all points. */
static void estimate(struct fit_memory_side *side, const double *error, const double *bytes_per_s,
                     double values[MEMORY_PARAMETER_COUNT])
{
    struct broken_line alone, together;
    size_t at_seq, at_par;
    double message_alone = bytes_per_s[side->message_alone];
    for (size_t i = 0; i < side->n_steps; i++) {
        const size_t *at = side->at[i].points;
        double message = bytes_per_s[at[MESSAGE]], message_error = error[at[MESSAGE]];
        side->alone.values[i] = (struct pool_value){bytes_per_s[at[ALONE]], error[at[ALONE]]};
        side->total.values[i] =
            (struct pool_value){bytes_per_s[at[COMPUTATION]] + message, hypot(error[at[COMPUTATION]], message_error)};
        side->shares.values[i] = (struct pool_value){message / message_alone, message_error / message_alone};
    }
    find_peaks(side, &at_seq, &alone, &at_par, &together);
    double n_seq = side->n[at_seq], n_par = side->n[at_par], last = side->n[side->n_steps - 1];
    double most = together.value[0];
    double bend = n_seq < n_par ? side->total.values[at_seq].value : line_at(&together, n_seq);
    if (bend > most) /* nothing is above the maximum: both are it */
        most = bend = (most + bend) / 2;
    values[MEMORY_CORES_PAR] = n_par;
    values[MEMORY_TOTAL_PAR] = most;
    values[MEMORY_CORES_SEQ] = n_seq;
    values[MEMORY_TOTAL_SEQ] = fmax(alone.value[0], (alone.value[0] + line_at(&alone, last)) / 2);
    values[MEMORY_TOTAL_PAR2] = bend;
    values[MEMORY_ALPHA] = fmin(mean_of_smallest(&side->shares), 1);
    values[MEMORY_LOSS_LEFT] = at_seq == at_par ? 0 : (most - bend) / (n_seq - n_par);
    values[MEMORY_LOSS_RIGHT] = n_seq < last ? (bend - line_at(&together, last)) / (last - n_seq) : 0;
    values[MEMORY_ONE_CORE] = side->alone.values[0].value;
    values[MEMORY_ONE_MESSAGE] = message_alone;
}

/* Estimates a side of each replicate, and then as measured. */
static void estimate_all(struct fit_memory_side *side, const struct replicates *replicates)
{
    for (size_t k = 0; k <= BOOTSTRAP_REPLICATES; k++) {
        estimate(side, replicates->error, &replicates->drawn[k * replicates->n_points], side->values);
        for (size_t i = 0; i < MEMORY_PARAMETER_COUNT && k < BOOTSTRAP_REPLICATES; i++)
            side->replicates[i * BOOTSTRAP_REPLICATES + k] = side->values[i];
    }
}

/* Refuses numbers of cores that were left out below a peak, where the peak itself may be. */
static int check_gaps(const struct fit_memory_side *side, struct error *error)
{
    double peak = fmax(side->values[MEMORY_CORES_PAR], side->values[MEMORY_CORES_SEQ]);
    char expected[80];
    snprintf(expected, sizeof expected, "every number of cores from 1 to the peak at n = %.0f", peak);
    for (size_t i = 1; i < side->n_steps && side->at[i].n <= peak; i++)
        if (side->at[i].n != side->at[i - 1].n + 1)
            return lacks(side, MEMORY_COMPUTATION_ALONE, side->at[i - 1].n + 1, expected, error);
    return 0;
}

/* Returns the fewest samples of a point that a parameter is read from. */
static size_t fewest_samples(const struct fit_memory_side *side, int parameter)
{
    const struct memory_point *points = side->samples->points;
    size_t fewest = points[side->message_alone].n_samples;
    if (parameter == MEMORY_ONE_MESSAGE)
        return fewest;
    if (parameter == MEMORY_ONE_CORE)
        return points[side->at[0].points[ALONE]].n_samples;
    bool alone = parameter == MEMORY_CORES_SEQ || parameter == MEMORY_TOTAL_SEQ;
    for (size_t i = 0; i < side->n_steps; i++)
        for (int k = alone ? ALONE : COMPUTATION; k <= (alone ? ALONE : MESSAGE); k++) {
            size_t n = points[side->at[i].points[k]].n_samples;
            fewest = (i == 0 && k <= COMPUTATION) || n < fewest ? n : fewest;
        }
    return fewest;
}

/* Notes what is known of a loss, [0] left and [1] right of N_seq: a small one may be anything within its interval. */
static void say_loss(const struct fit_memory_side *side, int which, FILE *remarks)
{
    int parameter = which == 0 ? MEMORY_LOSS_LEFT : MEMORY_LOSS_RIGHT;
    const struct line_value *loss = &side->losses[which];
    double begin = side->values[which == 0 ? MEMORY_CORES_PAR : MEMORY_CORES_SEQ];
    double end = which == 0 ? side->values[MEMORY_CORES_SEQ] : side->at[side->n_steps - 1].n;
    char interval[80] = "one sample bounds it in no interval";
    if (!(end > begin))
        return;
    if (isfinite(loss->low) && isfinite(loss->high))
        snprintf(interval, sizeof interval, "in 95 %% %.4g to %.4g%s", loss->low * 1e-6, loss->high * 1e-6,
                 loss->low <= 0 && loss->high >= 0 ? ", maybe none" : "");
    fit_note(remarks, "%s: from n = %.0f to %.0f, a core more takes %.4g MB/s of both together (%s): %s",
             level_text(side->level), begin, end, loss->value * 1e-6, memory_quantity_name[parameter], interval);
}

static void append_rows(struct fit_memory_side *side, size_t n_launches, struct machine *machine)
{
    double factor = interval_few_launches(n_launches);
    for (int i = 0; i < MEMORY_PARAMETER_COUNT; i++) {
        size_t n_samples = fewest_samples(side, i);
        struct line_value value = {side->values[i], NAN, NAN};
        if (n_samples > 1)
            interval_of_replicates(&value, &side->replicates[(size_t)i * BOOTSTRAP_REPLICATES], BOOTSTRAP_REPLICATES,
                                   factor);
        if (i == MEMORY_ALPHA)
            value.high = fmin(value.high, 1);
        if (i == MEMORY_CORES_PAR || i == MEMORY_CORES_SEQ) { /* there are whole cores only */
            value.low = fmax(floor(value.low), 1);
            value.high = fmin(ceil(value.high), side->at[side->n_steps - 1].n);
        }
        fit_row(machine, side->level, PROTOCOL_ANY, memory_quantity_name[i], MACHINE_NO_N, value, n_samples,
                side->samples->cpu_copy ? "cpu-copy" : "memory");
        if (i == MEMORY_LOSS_LEFT || i == MEMORY_LOSS_RIGHT)
            side->losses[i - MEMORY_LOSS_LEFT] = value;
    }
}

/* Notes what a side's samples do not show. */
static void remark_on(const struct fit_memory_side *side, FILE *remarks)
{
    uint32_t last = side->at[side->n_steps - 1].n, cores = side->samples->cores;
    const char *name = level_text(side->level);
    if (last + 1 < cores)
        fit_note(remarks, "%s: measured up to n = %u, of %u cores: what more cores lose is not known", name, last,
                 cores);
    if (side->values[MEMORY_CORES_SEQ] < side->values[MEMORY_CORES_PAR])
        fit_note(remarks,
                 "%s: computation alone is fastest with n = %.0f, with a message besides not before n = %.0f: "
                 "memory_loss_left serves no n",
                 name, side->values[MEMORY_CORES_SEQ], side->values[MEMORY_CORES_PAR]);
}

/* Fits one side. Returns 1, 0 where it was not measured, or -1 with the reason. */
static int fit_side(struct fit_memory_side *side, const struct replicates *replicates, struct machine *machine,
                    FILE *remarks, struct error *error)
{
    int found = gather(side, error);
    if (found <= 0)
        return found;
    estimate_all(side, replicates);
    if (check_gaps(side, error) != 0)
        return -1;
    append_rows(side, replicates->n_launches, machine);
    remark_on(side, remarks);
    return 1;
}

static void append_count(struct machine *machine, const char *quantity, uint32_t count)
{
    fit_row(machine, LEVEL_COUNT, PROTOCOL_ANY, quantity, MACHINE_NO_N, (struct line_value){count, NAN, NAN}, 0, "");
}

int fit_memory(const struct memory_samples *samples, struct machine *machine, FILE *remarks, struct error *error)
{
    struct fit_memory_side sides[] = {{.level = LEVEL_INTRA_SOCKET, .numa = 0, .samples = samples},
                                      {.level = LEVEL_INTER_SOCKET, .numa = samples->numa_nodes, .samples = samples}};
    struct replicates replicates = fit_memory_draw(samples);
    int found[2] = {0, 0}, result = 0;
    find_errors(samples, &replicates);
    for (int i = 0; i < 2 && result == 0; i++) {
        found[i] = fit_side(&sides[i], &replicates, machine, remarks, error);
        result = found[i] < 0 ? -1 : 0;
    }
    if (result == 0 && found[0] + found[1] == 0)
        result = error_set(error,
                           "no samples with the data of computation and message both on NUMA node 0, or both "
                           "on %u",
                           samples->numa_nodes);
    for (int i = 0; i < 2 && result == 0; i++)
        if (found[i] == 0)
            fit_note(remarks, "%s: left out: no samples with data on NUMA node %u%s", level_text(sides[i].level),
                     sides[i].numa, samples->numa_all > samples->numa_nodes ? "" : ", which is not there");
    if (result == 0) {
        append_count(machine, "numa_nodes", samples->numa_nodes);
        append_count(machine, "cores", samples->cores);
    }
    for (int i = 0; i < 2 && result == 0; i++)
        for (int which = 0; which < 2 && found[i] > 0; which++)
            say_loss(&sides[i], which, remarks);
    for (int i = 0; i < 2; i++) {
        free(sides[i].at);
        free(sides[i].n);
        free(sides[i].alone.values);
        free(sides[i].total.values);
        free(sides[i].shares.values);
        free(sides[i].replicates);
    }
    free(replicates.drawn);
    free(replicates.error);
    return result;
}
