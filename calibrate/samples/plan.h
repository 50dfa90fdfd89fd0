/* Does the arithmetic of a schedule, apart from MPI: how long a sample is, how far apart samples start, when a median
 * is known well enough, and how time is shared where it does not suffice. */
#ifndef MPISTAIR_CALIBRATE_PLAN_H
#define MPISTAIR_CALIBRATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* A sample is a warm loop of about that length: shorter ones differ from each other by what wakes and interrupts cost.
 * Longer ones are not needed, unless a batch is longer: on a slow network a single repetition is slowed by the start
 * and the end of its flows, which several share. */
#define PLAN_SAMPLE_S     1e-3
#define PLAN_SAMPLE_MAX_S 0.5

/* A median is known well enough when half its interval, divided by the median, is below this. */
#define PLAN_PRECISION 0.02

/* Say how many samples every item gets before any gets more, and how many where time is short. */
enum { PLAN_SAMPLES = 12, PLAN_SAMPLES_SHORT = 3 };

/* Returns the repetitions of a sample, where one takes repetition_s > 0 and they come in batches: whole batches that
 * last PLAN_SAMPLE_S, less than a batch where one would last longer than PLAN_SAMPLE_MAX_S; 1 to max. */
int plan_repeats(double repetition_s, int batch, int max);

/* Returns the time from start to start of samples of sample_s each, between ranks while others look at every multiple
 * of tick_s: a third of a tick where that is enough, so that three samples lie between two looks, else whole ticks;
 * with some margin for a sample that lasts longer. */
double plan_gap_s(double sample_s, double tick_s);

/* Returns half the interval over the median; infinity where there is no interval. */
double plan_half_width(const double *sorted, size_t n);

/* Sets minimum[n], the samples that each of n items gets first, where a sample costs cost_s[n] > 0 and time_s is left:
 * PLAN_SAMPLES each if that suffices, else as many as equal shares of the time buy, PLAN_SAMPLES_SHORT at least. */
void plan_minimum(const double *cost_s, size_t n, double time_s, size_t *minimum);

#endif
