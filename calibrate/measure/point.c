/* Samples stay sorted as they come, so that the median and its interval are at hand after each series. */
#include "calibrate/measure/point.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/plan.h"
#include "share/base/array.h"

void point_add(struct point *point, double seconds)
{
    array_reserve(&point->seconds, &point->capacity, point->n + 1, sizeof *point->seconds);
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
