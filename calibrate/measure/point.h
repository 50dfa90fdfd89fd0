/* Holds an item while it is measured: its samples, and what one more costs. */
#ifndef MPISTAIR_CALIBRATE_POINT_H
#define MPISTAIR_CALIBRATE_POINT_H

#include <stdbool.h>
#include <stddef.h>

struct point {
    double *seconds; /* [n] sorted */
    size_t n;
    size_t capacity;
    size_t minimum;  /* samples that it gets before any item gets more */
    int repeats;     /* repeats of a sample; 0: not known yet */
    double sample_s; /* time of a sample from start to end */
    double cost_s;   /* time of a sample with its share of the series; 0: not known yet */
    double spent_s;
};

/* Add a sample, and take one back that was added. */
void point_add(struct point *point, double seconds);
void point_remove(struct point *point, double seconds);
void point_release(struct point *point);

/* Says whether its median is known within PLAN_PRECISION from PLAN_SAMPLES or more. */
bool point_is_done(const struct point *point);

/* Returns the seconds that it still takes until then, if the interval shrinks with the root of the number of samples.
 */
double point_needed_s(const struct point *point);

#endif
