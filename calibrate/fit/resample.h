/* Makes curves for the bootstrap from samples that are drawn again, with replacement, from those that were measured.
 *
 * Where the job was launched several times, launches are drawn first and then samples within each: what changes between
 * launches (which pages, which cores) changes all times of one and is not seen in the residuals of a line. With one
 * launch the samples of each size are drawn. What pairs of a socket share (domain) is no chance: samples of each domain
 * are drawn apart. */
#ifndef MPISTAIR_CALIBRATE_RESAMPLE_H
#define MPISTAIR_CALIBRATE_RESAMPLE_H

#include <gsl/gsl_rng.h>

#include "calibrate/samples/samples.h"

/* More launches than these are not told apart. */
enum { RESAMPLE_MAX_LAUNCHES = 256 };

struct resampling {
    size_t n_launches;
    size_t n_domains;     /* how many domains are told apart: 1 or DOMAIN_COUNT */
    struct curves curves; /* the replicate: bytes, n_samples and first belong to the curves that it was made from */

    /* The rest is private. */
    enum samples_statistic statistic;
    uint32_t launch[RESAMPLE_MAX_LAUNCHES];
    double *seconds; /* the samples of every point, by launch */
    size_t *groups;  /* [points][n_launches * n_domains + 1]: where a point's launches and domains begin in seconds */
    double domain_pairs[DOMAIN_COUNT];
    double *drawn; /* times drawn for one point */
    gsl_rng *random;
};

/* Prepares. samples are sorted, as the curves were made from; both stay the caller's and must outlive it. The same seed
 * gives the same replicates. Returns 0, or -1 without memory. */
int resampling_init(struct resampling *resampling, const struct samples *samples, const struct curves *curves,
                    enum samples_statistic statistic, unsigned long seed);
/* Draws the next replicate into resampling->curves. */
void resampling_next(struct resampling *resampling);
void resampling_release(struct resampling *resampling);

#endif
