/* 95 % intervals by the bootstrap: samples are drawn with replacement from those that were measured, fitted again,
 * and the scatter of these replicates says how well a value is known.
 *
 * Where the job was launched several times, launches are drawn first: what changes between launches (which pages, which
 * cores) changes all times of one and is not seen in the residuals of a line. There are two ways:
 *   - resampling draws launches, then samples of each point within each launch, into curves. With one launch the
 *     samples of each point are drawn. What pairs of a socket share (domain) is no chance: samples of each domain are
 *     drawn apart.
 *   - bootstrap_launches draws launches with all of their samples, for the fits of the single benchmarks. With one
 *     launch it does nothing.
 * The rules of the intervals are those of fit_machine.h. The same samples give the same intervals. */
#ifndef MPISTAIR_CALIBRATE_BOOTSTRAP_H
#define MPISTAIR_CALIBRATE_BOOTSTRAP_H

#include "calibrate/fit/fits.h"
#include "share/base/random.h"

enum { BOOTSTRAP_REPLICATES = 200 }; /* unless the options say otherwise */

/* Number of replicates that the options ask for. */
size_t bootstrap_replicates(const struct fit_options *options);
/* Widens the interval of a value to that of its replicates[n_replicates > 0], which lose their order; their distance
 * from the value grows by factor. */
void interval_widen(struct line_value *value, double *replicates, size_t n_replicates, double factor);
/* Sets the interval to that of the replicates instead; it holds the value. */
void interval_of_replicates(struct line_value *value, double *replicates, size_t n_replicates, double factor);
/* Factor by which the distance of a quantile grows where few launches were drawn from; 1 for one launch. */
double interval_few_launches(size_t n_launches);

/* Fits without making rows: fills values[] from sorted samples of one benchmark. Returns whether they give any. */
typedef bool bootstrap_estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                                double *values);
enum { BOOTSTRAP_VALUES_MAX = 4 };

/* Widens the intervals of values[n_values <= BOOTSTRAP_VALUES_MAX] by launches of a benchmark. */
void bootstrap_launches(const struct samples *samples, enum benchmark benchmark, bootstrap_estimate *estimate,
                        const struct fit_options *options, const void *context, struct line_value *const values[],
                        size_t n_values);

/* Most launches that are distinguished; of more, all count as one. */
enum { RESAMPLING_LAUNCHES_MAX = 256 };

struct resampling {
    size_t n_launches;
    size_t n_domains;     /* how many domains are told apart: 1 or DOMAIN_COUNT */
    struct curves curves; /* the replicate: bytes, n_samples and first belong to the curves that it was made from */

    /* The rest is private. */
    enum samples_statistic statistic;
    uint32_t launch[RESAMPLING_LAUNCHES_MAX];
    double *seconds; /* the samples of every point, by launch */
    size_t *groups;  /* [points][n_launches * n_domains + 1]: where a point's launches and domains begin in seconds */
    double domain_pairs[DOMAIN_COUNT];
    double *drawn; /* times drawn for one point */
    struct twister random;
};

/* Prepares. samples are sorted, as the curves were made from; both stay the caller's and must outlive it. The same seed
 * gives the same replicates. */
void resampling_init(struct resampling *resampling, const struct samples *samples, const struct curves *curves,
                     enum samples_statistic statistic, unsigned long seed);
/* Draws the next replicate into resampling->curves. */
void resampling_next(struct resampling *resampling);
void resampling_release(struct resampling *resampling);

/* How much longer one thing takes than another: the difference of the medians, or minima, of two sets of samples. */
struct difference {
    double first_s;  /* median or minimum of the first set */
    double second_s; /* of the second */
    double value_s;  /* second - first */
    double low_s;    /* its 95 % interval, which contains value_s; NaN: one sample has none */
    double high_s;
    double gap_s;     /* time from the longest of the first set to the shortest of the second; below 0: they overlap */
    size_t n_samples; /* samples of both sets */
    size_t n_smaller; /* samples of the smaller set */
};

struct difference difference_find(const struct samples *samples, enum samples_statistic statistic,
                                  struct sample_set first, struct sample_set second);

#endif
