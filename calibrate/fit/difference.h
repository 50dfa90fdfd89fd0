/* Tells how much longer one thing takes than another: the difference of the medians, or minima, of two sets of samples.
 */
#ifndef MPISTAIR_CALIBRATE_DIFFERENCE_H
#define MPISTAIR_CALIBRATE_DIFFERENCE_H

#include "calibrate/samples/samples.h"

struct difference {
    double first_s;  /* median or minimum of the first set */
    double second_s; /* median or minimum of the second */
    double value_s;  /* second - first */
    double low_s;    /* its 95 % interval, which contains value_s; NaN: one sample has none */
    double high_s;
    double gap_s;     /* time from the longest of the first set to the shortest of the second; below 0: they overlap */
    size_t n_samples; /* samples of both sets */
    size_t n_smaller; /* samples of the smaller set */
};

/* Holds samples that follow each other. */
struct sample_set {
    size_t first;
    size_t n; /* 1 or more */
};

/* Finds the difference. The same samples give the same interval. Returns 0, or -1 without memory. */
int difference_find(const struct samples *samples, enum samples_statistic statistic, struct sample_set first,
                    struct sample_set second, struct difference *difference);

#endif
