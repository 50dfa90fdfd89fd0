/* Replicates are drawn hundreds of times, so the samples are copied once, grouped by point, launch and domain, and a
 * draw is a pass over arrays. */
#include "calibrate/fit/resample.h"

#include <stdlib.h>
#include <string.h>

/* Returns the launch's index, and adds it where it is new. If there are too many, all count as one. */
static size_t launch_index(struct resampling *resampling, uint32_t launch)
{
    for (size_t i = 0; i < resampling->n_launches; i++)
        if (resampling->launch[i] == launch)
            return i;
    if (resampling->n_launches < RESAMPLE_MAX_LAUNCHES)
        resampling->launch[resampling->n_launches] = launch;
    return resampling->n_launches++;
}

static void find_groups(struct resampling *resampling, const struct samples *samples, const struct curves *curves)
{
    for (size_t i = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        for (size_t point = 0; point < curve->n_points; point++)
            for (size_t k = 0; k < curve->n_samples[point] && resampling->n_launches <= RESAMPLE_MAX_LAUNCHES; k++) {
                const struct sample *sample = &samples->samples[curve->first[point] + k];
                (void)launch_index(resampling, sample->launch);
                if (sample->domain != DOMAIN_NONE)
                    resampling->n_domains = DOMAIN_COUNT;
            }
    }
    if (resampling->n_launches > RESAMPLE_MAX_LAUNCHES)
        resampling->n_launches = 1;
}

/* Copies the times of a point, one launch after the other, and one domain after the other within; returns the largest
 * launch's size. */
static size_t group_point(struct resampling *resampling, const struct sample *samples, size_t n_samples, size_t begin,
                          size_t *groups)
{
    size_t at = begin, largest = 0, n_domains = resampling->n_domains;
    for (size_t launch = 0; launch < resampling->n_launches; launch++) {
        size_t before = at;
        for (size_t domain = 0; domain < n_domains; domain++) {
            groups[launch * n_domains + domain] = at;
            for (size_t i = 0; i < n_samples; i++)
                if ((resampling->n_launches == 1 || samples[i].launch == resampling->launch[launch]) &&
                    (n_domains == 1 || samples[i].domain == domain))
                    resampling->seconds[at++] = samples[i].seconds;
        }
        if (at - before > largest)
            largest = at - before;
    }
    groups[resampling->n_launches * n_domains] = at;
    return largest;
}

static int copy_curves(struct resampling *resampling, const struct curves *curves)
{
    resampling->curves.curves = calloc(curves->n_curves + 1, sizeof *resampling->curves.curves);
    if (resampling->curves.curves == NULL)
        return -1;
    for (size_t i = 0; i < curves->n_curves; i++) {
        struct curve *curve = &resampling->curves.curves[resampling->curves.n_curves++];
        *curve = curves->curves[i];
        curve->seconds = calloc(curve->n_points + 1, sizeof *curve->seconds);
        if (curve->seconds == NULL)
            return -1;
    }
    return 0;
}

int resampling_init(struct resampling *resampling, const struct samples *samples, const struct curves *curves,
                    enum samples_statistic statistic, unsigned long seed)
{
    *resampling = (struct resampling){.statistic = statistic, .n_domains = 1};
    memcpy(resampling->domain_pairs, samples->domain_pairs, sizeof resampling->domain_pairs);
    find_groups(resampling, samples, curves);
    size_t n_points = 0, largest = 0, width = resampling->n_launches * resampling->n_domains + 1;
    for (size_t i = 0; i < curves->n_curves; i++)
        n_points += curves->curves[i].n_points;
    resampling->seconds = calloc(samples->n_samples + 1, sizeof *resampling->seconds);
    resampling->groups = calloc(n_points * width + 1, sizeof *resampling->groups);
    resampling->random = gsl_rng_alloc(gsl_rng_taus2);
    if (resampling->seconds == NULL || resampling->groups == NULL || resampling->random == NULL ||
        copy_curves(resampling, curves) != 0)
        goto out;
    gsl_rng_set(resampling->random, seed);
    for (size_t i = 0, index = 0, at = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        for (size_t point = 0; point < curve->n_points; point++, index++) {
            size_t group = group_point(resampling, &samples->samples[curve->first[point]], curve->n_samples[point], at,
                                       &resampling->groups[index * width]);
            at += curve->n_samples[point];
            largest = group > largest ? group : largest;
        }
    }
    resampling->drawn = calloc(largest * resampling->n_launches + 1, sizeof *resampling->drawn);
    if (resampling->drawn != NULL)
        return 0;
out:
    resampling_release(resampling);
    return -1;
}

/* Draws as many times as [begin, end) has. */
static size_t draw(struct resampling *resampling, size_t begin, size_t end, double *drawn)
{
    for (size_t i = begin; i < end; i++)
        drawn[i - begin] = resampling->seconds[begin + gsl_rng_uniform_int(resampling->random, end - begin)];
    return end - begin;
}

/* Returns the time of a point's domain as drawn, 0 where it was not measured. groups are those of the point. */
static double draw_domain(struct resampling *resampling, const size_t *groups, const size_t *launches, size_t domain)
{
    size_t n_drawn = 0, n_launches = resampling->n_launches, n_domains = resampling->n_domains;
    for (size_t k = 0; k < n_launches; k++) {
        const size_t *group = &groups[launches[k] * n_domains + domain];
        n_drawn += draw(resampling, group[0], group[1], &resampling->drawn[n_drawn]);
    }
    for (size_t k = 0; n_drawn == 0 && k < n_launches; k++) { /* none of the launches that were drawn has it */
        const size_t *group = &groups[k * n_domains + domain];
        n_drawn += draw(resampling, group[0], group[1], &resampling->drawn[n_drawn]);
    }
    return n_drawn > 0 ? samples_reduce(resampling->drawn, n_drawn, resampling->statistic) : 0;
}

void resampling_next(struct resampling *resampling)
{
    size_t launches[RESAMPLE_MAX_LAUNCHES], n_launches = resampling->n_launches;
    for (size_t i = 0; i < n_launches; i++)
        launches[i] = gsl_rng_uniform_int(resampling->random, n_launches);
    const size_t *groups = resampling->groups;
    for (size_t i = 0; i < resampling->curves.n_curves; i++) {
        struct curve *curve = &resampling->curves.curves[i];
        for (size_t point = 0; point < curve->n_points; point++, groups += n_launches * resampling->n_domains + 1) {
            double seconds[DOMAIN_COUNT] = {0};
            for (size_t domain = 0; domain < resampling->n_domains; domain++)
                seconds[domain] = draw_domain(resampling, groups, launches, domain);
            curve->seconds[point] = samples_combine(seconds, resampling->domain_pairs);
        }
    }
}

void resampling_release(struct resampling *resampling)
{
    for (size_t i = 0; i < resampling->curves.n_curves; i++)
        free(resampling->curves.curves[i].seconds);
    free(resampling->curves.curves);
    free(resampling->seconds);
    free(resampling->groups);
    free(resampling->drawn);
    if (resampling->random != NULL)
        gsl_rng_free(resampling->random);
    *resampling = (struct resampling){0};
}
