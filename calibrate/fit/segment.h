/* Where a curve of time over size breaks: protocol thresholds found in the data.
 *
 * Every way to cut the sizes into 1, 2 or 3 pieces of at least 3 sizes is fitted by lines with relative least squares;
 * the Bayesian information criterion, n ln(RSS/n) + p ln n with p = two parameters a piece and one a break, chooses.
 * The residuals are relative, else the largest messages alone would decide.
 */
#ifndef MPISTAIR_CALIBRATE_SEGMENT_H
#define MPISTAIR_CALIBRATE_SEGMENT_H

#include <stddef.h>

enum { SEGMENT_MAX = 3, SEGMENT_MIN_POINTS = 3, SEGMENT_MAX_POINTS = 4096 };

/* Cuts n_points points by ascending x (all y > 0) into at most max_segments <= SEGMENT_MAX; begin[i] is the index of
 * the first point of segment i, begin[0] = 0. Returns the number of segments, 1 where the points are too few to tell,
 * or -1 with more than SEGMENT_MAX_POINTS points. */
int segment_find(const double *x, const double *y, size_t n_points, int max_segments, size_t begin[SEGMENT_MAX]);

#endif
