/* Does the arithmetic of a schedule, apart from MPI: how long a sample is, how far apart samples start, when a median
 * is known well enough, how time is shared where it does not suffice; and which size a search asks for next. */
#ifndef MPISTAIR_CALIBRATE_PLAN_H
#define MPISTAIR_CALIBRATE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An item while it is measured: its samples, which stay sorted so that the median and its interval are at hand,
 * and what one more costs. */
struct point {
    double *seconds; /* [n] sorted */
    size_t n;
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

/* Returns whether its median is known within PLAN_PRECISION from PLAN_SAMPLES or more. */
bool point_is_done(const struct point *point);

/* Returns the seconds that it still takes until then, if the interval shrinks with the root of the number of samples.
 */
double point_needed_s(const struct point *point);

/* Length of a sample, a warm loop, and the most, s: shorter ones differ from each other by what wakes and interrupts
 * cost. Longer ones are not needed, unless a batch is longer: on a slow network a single repetition is slowed by the
 * start and the end of its flows, which several share. */
#define PLAN_SAMPLE_S     1e-3
#define PLAN_SAMPLE_MAX_S 0.5

/* Half the interval over the median below which a median is known well enough. */
#define PLAN_PRECISION 0.02

/* Samples that every item gets before any gets more; as many where time is short. */
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

/* Finds the size from which something is refused, by asking for one size after the other: doubled until the first
 * refusal, then halfway between the largest that was taken and the smallest that was refused.
 *
 * A refusal may be a delay that was taken for one. So the smallest refused size is asked for once more at the end, with
 * more patience; where it is taken then, everything refused so far is forgotten and the search goes on upwards. */
struct bisection {
    uint64_t first_bytes;   /* asked first, from 1 on */
    uint64_t last_bytes;    /* asked at most */
    double resolution;      /* relative precision of the result; 0: to the byte */
    uint64_t taken_bytes;   /* the largest that was taken, 0: none so far */
    uint64_t refused_bytes; /* the smallest that was refused, 0: none so far */
    bool confirmed;         /* refused_bytes was refused twice */
};

/* Returns the next size to ask for; 0 at the end, when refused_bytes is 0 if nothing up to last_bytes was refused.
 * *again is set if the size was refused before. */
uint64_t bisection_next(const struct bisection *bisection, bool *again);

/* Takes the answer for the size that bisection_next() gave. */
void bisection_tell(struct bisection *bisection, uint64_t bytes, bool taken);

#endif
