/* The standard errors come from the curves without noise alone: the fit has no part in them. */
#include "tests/models/memory_losses.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h> /* last: it defines fail as a macro */

#define NEAR 0.03
#define HALF 1.96 /* standard errors of half a 95 % interval */
#define FAR  4.5

/* Holds where the lines begin, meet and end. */
struct knots {
    size_t count;
    double n[3];
};

static struct knots knots_of(const struct memory_side *side, uint32_t cores)
{
    struct knots knots = {1, {side->cores_par}};
    if (side->cores_seq > side->cores_par)
        knots.n[knots.count++] = side->cores_seq;
    if (cores > knots.n[knots.count - 1])
        knots.n[knots.count++] = cores;
    return knots;
}

/* Returns how much of a knot's value the lines have at n, which is between the first knot and the last. */
static double part_of(const struct knots *knots, size_t knot, double n)
{
    size_t end = 1;
    while (end + 1 < knots->count && n > knots->n[end])
        end++;
    double share = (n - knots->n[end - 1]) / (knots->n[end] - knots->n[end - 1]);
    return knot == end ? share : knot + 1 == end ? 1 - share : 0;
}

/* Inverts the positive definite matrix[n][n] in place. */
static void invert(double matrix[3][3], size_t n)
{
    for (size_t pivot = 0; pivot < n; pivot++) {
        double inverse = 1 / matrix[pivot][pivot];
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n && i != pivot; k++)
                matrix[i][k] -= k != pivot ? matrix[i][pivot] * inverse * matrix[pivot][k] : 0;
        for (size_t i = 0; i < n; i++) {
            matrix[i][pivot] *= -inverse;
            matrix[pivot][i] *= i != pivot ? inverse : 1;
        }
        matrix[pivot][pivot] = inverse;
    }
}

/* Makes the covariance of the knots' values. */
static void find_covariance(const struct made_measuring *measuring, const struct memory_side *side, uint32_t cores,
                            const struct knots *knots, double matrix[3][3])
{
    static struct made_curve curve;
    made_curves(side, cores, &curve);
    for (uint32_t n = (uint32_t)side->cores_par; n <= cores; n++) {
        double error = MADE_MEDIAN_ERROR(measuring->noise) * hypot(curve.message[n], curve.total[n] - curve.message[n]);
        for (size_t i = 0; made_is_measured(measuring, side, cores, n) && i < knots->count; i++)
            for (size_t k = 0; k < knots->count; k++)
                matrix[i][k] += part_of(knots, i, n) * part_of(knots, k, n) / (error * error);
    }
    invert(matrix, knots->count);
}

static double slope_error(double covariance[3][3], const struct knots *knots, size_t at)
{
    double variance = covariance[at][at] + covariance[at + 1][at + 1] - 2 * covariance[at][at + 1];
    return sqrt(variance) / (knots->n[at + 1] - knots->n[at]);
}

void losses_errors(const struct made_measuring *measuring, const struct memory_side *side, uint32_t cores,
                   double errors[2])
{
    struct knots knots = knots_of(side, cores);
    errors[0] = errors[1] = NAN;
    if (knots.count < 2)
        return;
    double covariance[3][3] = {0};
    find_covariance(measuring, side, cores, &knots, covariance);
    size_t at = 0;
    if (side->cores_seq > side->cores_par)
        errors[0] = slope_error(covariance, &knots, at++);
    if (cores > side->cores_seq)
        errors[1] = slope_error(covariance, &knots, at);
}

void losses_add(struct losses *losses, const struct made_measuring *measuring, const struct memory_side *truth,
                const struct memory_side *found, const struct made_intervals *intervals, uint32_t cores)
{
    double errors[2];
    losses_errors(measuring, truth, cores, errors);
    for (int k = 0; k < 2; k++) {
        if (isnan(errors[k]))
            continue;
        assert_true(losses->n < LOSSES_MOST);
        losses->all[losses->n++] = (struct loss){
            .truth = k == 0 ? truth->loss_left : truth->loss_right,
            .found = k == 0 ? found->loss_left : found->loss_right,
            .error = errors[k],
            .low = intervals->low[k],
            .high = intervals->high[k],
            .has_cores = found->cores_par == truth->cores_par && found->cores_seq == truth->cores_seq,
        };
    }
}

/* Counts losses by what is asked of them. */
struct count {
    size_t has_cores, can_be_near, near_of_these, near, in_interval;
    double squares, farthest; /* of those that have their cores, in standard errors */
};

static struct count count_of(const struct losses *losses)
{
    struct count count = {0};
    for (size_t i = 0; i < losses->n; i++) {
        const struct loss *loss = &losses->all[i];
        double off = fabs(loss->found - loss->truth), limit = NEAR * fabs(loss->truth);
        bool can_be_near = HALF * loss->error <= limit;
        count.near += off <= limit;
        count.can_be_near += can_be_near;
        count.near_of_these += can_be_near && off <= limit;
        count.in_interval += loss->low <= loss->truth && loss->truth <= loss->high;
        if (!loss->has_cores)
            continue;
        count.has_cores++;
        count.squares += pow(off / loss->error, 2);
        count.farthest = fmax(count.farthest, off / loss->error);
    }
    return count;
}

void losses_print(const struct losses *losses)
{
    struct count count = count_of(losses);
    printf("%zu losses: within 3 %% of themselves %zu; noise lets %zu be, of which %zu are; in their intervals %zu\n",
           losses->n, count.near, count.can_be_near, count.near_of_these, count.in_interval);
    printf("%zu losses with their cores: off by %.3f of the least standard error (root of mean square), at most %.2f\n",
           count.has_cores, sqrt(count.squares / (double)count.has_cores), count.farthest);
}

/* Says whether so many of all are 95 %, give or take three standard deviations of such a count. */
static bool is_95_percent(size_t part, size_t all)
{
    return (double)part >= 0.95 * (double)all - 3 * sqrt(0.95 * 0.05 * (double)all);
}

void losses_require(const struct losses *losses)
{
    struct count count = count_of(losses);
    double n = (double)count.has_cores;
    assert_true(count.has_cores > 0);
    if (count.squares > n + 3 * sqrt(2 * n)) /* chi squared */
        fail_msg("losses are off by %.3f times what noise leaves", sqrt(count.squares / n));
    if (count.farthest > FAR)
        fail_msg("a loss is off by %.2f standard errors", count.farthest);
    if (!is_95_percent(count.near_of_these, count.can_be_near))
        fail_msg("of %zu losses that can be within 3 %%, %zu are", count.can_be_near, count.near_of_these);
    if (!is_95_percent(count.in_interval, losses->n))
        fail_msg("of %zu losses, %zu are in their intervals", losses->n, count.in_interval);
}
