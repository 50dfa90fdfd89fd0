#include "calibrate/measure/point.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/measure/plan.h"
#include "share/base/array.h"

int point_add(struct point *point, double seconds)
{
    if (array_reserve(&point->seconds, &point->capacity, point->n + 1, sizeof *point->seconds) != 0)
        return -1;
    size_t place = point->n++;
    for (; place > 0 && point->seconds[place - 1] > seconds; place--)
        point->seconds[place] = point->seconds[place - 1];
    point->seconds[place] = seconds;
    return 0;
}

void point_remove(struct point *point, double seconds)
{
    for (size_t i = 0; i < point->n; i++)
        if (point->seconds[i] >= seconds) {
            point->n--;
            for (; i < point->n; i++)
                point->seconds[i] = point->seconds[i + 1];
            return;
        }
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
