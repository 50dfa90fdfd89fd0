/* The arithmetic that decides how long a calibration takes and how good it is, and the search for a boundary. They use
 * neither MPI nor clocks, so tests can give the search all answers of a network, delays and contradictions included. */
#include "calibrate/measure/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/array.h"
#include "share/base/statistics.h"

void point_add(struct point *point, double seconds)
{
    array_grow(&point->seconds, point->n, sizeof *point->seconds);
    size_t place = point->n++;
    for (; place > 0 && point->seconds[place - 1] > seconds; place--)
        point->seconds[place] = point->seconds[place - 1];
    point->seconds[place] = seconds;
}

void point_remove(struct point *point, double seconds)
{
    size_t place = 0;
    while (place < point->n && point->seconds[place] < seconds)
        place++;
    if (place == point->n || point->seconds[place] > seconds)
        return;
    point->n--;
    memmove(&point->seconds[place], &point->seconds[place + 1], (point->n - place) * sizeof *point->seconds);
}

void point_release(struct point *point)
{
    free(point->seconds);
    *point = (struct point){.seconds = NULL};
}

bool point_is_done(const struct point *point)
{
    return point->n >= PLAN_SAMPLES && plan_half_width(point->seconds, point->n) <= PLAN_PRECISION;
}

double point_needed_s(const struct point *point)
{
    if (point_is_done(point))
        return 0;
    double wanted = PLAN_SAMPLES, width = plan_half_width(point->seconds, point->n) / PLAN_PRECISION;
    if (isfinite(width))
        wanted = fmax(wanted, (double)point->n * width * width);
    return fmax(wanted - (double)point->n, 1) * point->cost_s;
}

/* Time of a gap for waking up and the first poll, s. */
#define SETTLE_S 0.3e-3

int plan_repeats(double repetition_s, int batch, int max)
{
    max = max < 1 ? 1 : max;
    batch = batch < 1 ? 1 : batch < max ? batch : max;
    if (repetition_s * batch > PLAN_SAMPLE_MAX_S) {
        double affordable = floor(PLAN_SAMPLE_MAX_S / repetition_s);
        return affordable < 1 ? 1 : affordable < batch ? (int)affordable : batch;
    }
    double batches = ceil((1 - 1e-9) * PLAN_SAMPLE_S / (repetition_s * batch)), most = max / batch;
    return batch * (int)(batches < 1 ? 1 : batches > most ? most : batches);
}

double plan_gap_s(double sample_s, double tick_s)
{
    if (1.15 * sample_s + SETTLE_S <= tick_s / 3)
        return tick_s / 3;
    return tick_s * ceil((1.3 * sample_s + 2 * SETTLE_S) / tick_s);
}

double plan_half_width(const double *sorted, size_t n)
{
    double low, high, median = sorted_median(sorted, n);
    if (!sorted_median_interval(sorted, n, &low, &high) || !(median > 0))
        return INFINITY;
    return (high - low) / 2 / median;
}

/* Returns how many samples a share of the time buys. */
static size_t bought(double share_s, double cost_s)
{
    double samples = floor(share_s / cost_s);
    return samples < PLAN_SAMPLES_SHORT ? PLAN_SAMPLES_SHORT : samples > PLAN_SAMPLES ? PLAN_SAMPLES : (size_t)samples;
}

static double total_s(const double *cost_s, size_t n, double share_s)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += cost_s[i] * (double)bought(share_s, cost_s[i]);
    return total;
}

void plan_minimum(const double *cost_s, size_t n, double time_s, size_t *minimum)
{
    double low_s = 0, high_s = 0;
    for (size_t i = 0; i < n; i++)
        high_s = fmax(high_s, (PLAN_SAMPLES + 0.5) * cost_s[i]);
    bool enough = total_s(cost_s, n, high_s) <= time_s;
    for (int i = 0; i < 60 && !enough; i++) {
        double middle_s = (low_s + high_s) / 2;
        if (total_s(cost_s, n, middle_s) > time_s)
            high_s = middle_s;
        else
            low_s = middle_s;
    }
    double share_s = enough ? high_s : low_s;
    for (size_t i = 0; i < n; i++)
        minimum[i] = bought(share_s, cost_s[i]);
}

uint64_t bisection_next(const struct bisection *bisection, bool *again)
{
    uint64_t taken = bisection->taken_bytes, refused = bisection->refused_bytes;
    *again = false;
    if (refused == 0) {
        if (taken == 0)
            return bisection->first_bytes;
        if (taken >= bisection->last_bytes)
            return 0;
        return taken > bisection->last_bytes / 2 ? bisection->last_bytes : 2 * taken;
    }
    uint64_t gap = refused - taken;
    if (gap > 1 && (double)gap > bisection->resolution * (double)refused)
        return taken + gap / 2;
    *again = true;
    return bisection->confirmed ? 0 : refused;
}

void bisection_tell(struct bisection *bisection, uint64_t bytes, bool taken)
{
    if (!taken) {
        bisection->confirmed = bytes == bisection->refused_bytes;
        bisection->refused_bytes = bytes;
        return;
    }
    bisection->taken_bytes = bytes;
    if (bytes == bisection->refused_bytes)
        bisection->refused_bytes = 0;
}
