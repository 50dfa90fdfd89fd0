/* Finds where curves of time over size break: protocol thresholds that show in the data.
 *
 * Every way to cut the sizes into 1, 2 or 3 pieces of at least 3 sizes a curve is fitted by lines with relative least
 * squares. The Bayesian information criterion chooses: the sum over curves of n ln(RSS/n), and the logarithm of all
 * points for each two parameters of a piece and curve and for each cut. The residuals are relative, as otherwise the
 * largest messages alone would decide. Several curves are cut at the same sizes: whether that beats a cut of each by
 * itself is seen by comparing the criteria.
 *
 * A protocol is a step of the time or a change of its slope, and noise is often cut where neither is. So a cut
 * counts only if it shows in enough of the curves. It shows if the two lines, evaluated at the cut, are SEGMENT_JUMP
 * apart and further than chance allows, or if both slopes are known to be above 0 and their 95 % intervals are
 * apart. */
#ifndef MPISTAIR_CALIBRATE_SEGMENT_H
#define MPISTAIR_CALIBRATE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { SEGMENT_MAX = 3, SEGMENT_MIN_POINTS = 3, SEGMENT_MAX_POINTS = 4096 };

#define SEGMENT_JUMP 0.2
#define SEGMENT_STEP 0.5

struct segment_curve {
    const double *x; /* [n_points] ascending, borrowed */
    const double *y; /* [n_points] all > 0 */
    size_t n_points;
};

struct segmentation {
    int n;
    double begin[SEGMENT_MAX]; /* first x of each segment; begin[0] = 0 */
    double criterion;          /* smaller is better */
};

/* Finds the segments of n_curves >= 1 curves of at most SEGMENT_MAX_POINTS points. differ_min: in how many of them a
 * cut has to make a difference, 1 to n_curves. With steps_only a difference is a step up of SEGMENT_JUMP, not a change
 * of slope. log_points is the natural logarithm of the points of all curves that are compared. The result is one
 * segment where the points are too few to tell. */
struct segmentation segment_find(const struct segment_curve *curves, size_t n_curves, size_t differ_min,
                                 bool steps_only, int max_segments, double log_points);

#endif
