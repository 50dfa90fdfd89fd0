/* Says when the threads of a rank are done with their computation: assumed (one laggard, a normal distribution), drawn
 * from measured times (a kernel density estimate), or given one by one.
 *
 * The benchmark of fine-grained messages makes its threads sleep so long, and its model computes with the same times.
 * Needs neither MPI nor SQLite, since both programs link it. */
#ifndef MPISTAIR_CALIBRATE_THREAD_ARRIVALS_H
#define MPISTAIR_CALIBRATE_THREAD_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

/* Longest time, s: a longer one was most likely not written in seconds. */
#define ARRIVALS_MOST_S 86400.0

/* TRACE is a trace.db, out of which the commands make a file that FIXED reads. */
enum arrival_kind { ARRIVAL_LAGGARD, ARRIVAL_NORMAL, ARRIVAL_KDE, ARRIVAL_FIXED, ARRIVAL_TRACE };

struct arrivals_request {
    enum arrival_kind kind;
    double amount;    /* laggard: percent of the compute time; normal: standard deviation in s */
    const char *path; /* of kde, fixed and trace: within the text that was parsed */
    double width_s;   /* kde: standard deviation of the Gaussian kernel; 0: Silverman's width */
};

/* Takes "laggard:PERCENT", "normal:SD" (in s, or with s, ms, us or ns behind it), "kde:FILE", "fixed:FILE" or
 * "trace:TRACE.db". Sets *request, its width_s 0; returns 0, or -1 with what was expected. */
int arrivals_parse(const char *text, struct arrivals_request *request, struct error *error);

struct arrivals;

/* Prepares the times of a request, and reads its file. compute_s is when all are done but the laggard, and the mean of
 * the normal distribution; kde and fixed have whole times and do not use it. Returns 0, and *arrivals is for
 * arrivals_close; or -1 with the reason, as file:line where it is one of a file. TRACE is refused. */
int arrivals_open(const struct arrivals_request *request, double compute_s, struct arrivals **arrivals,
                  struct error *error);
void arrivals_close(struct arrivals *arrivals);

/* Checks that there are times for n_threads threads on each of the ranks 0 to n_ranks - 1. Only a file of fixed times
 * can lack them: a rank, or as many threads as asked for. Returns 0, or -1 with what is missing. */
int arrivals_check(const struct arrivals *arrivals, uint32_t n_ranks, size_t n_threads, struct error *error);

/* Sets seconds[n_threads]: from the begin of the computation until thread t is done with it. A time depends on seed,
 * iteration, rank and thread alone, so that any two programs see the same ones in any order; fixed times have no seed,
 * and of several for a rank and thread the iterations take one after the other, again and again. Returns 0, or -1 where
 * arrivals_check says that there are none. */
int arrivals_draw(const struct arrivals *arrivals, uint64_t seed, uint64_t iteration, uint32_t rank, size_t n_threads,
                  double *seconds);

/* Writes the times of iterations 0 to n_iterations - 1 into the file at path ("-": standard output): a line
 * rank,thread,seconds, then a row a time. fixed:path gives the same times bit for bit. Returns 0, or -1 with the
 * reason. */
int arrivals_dump(const struct arrivals *arrivals, const char *path, uint64_t seed, uint64_t n_iterations,
                  uint32_t n_ranks, size_t n_threads, struct error *error);

/* Returns Silverman's width of samples[n] in increasing order, n at least 1: 0.9 min(s, R / 1.34) n^(-1/5) with
 * standard deviation s and interquartile range R (Silverman, Density Estimation for Statistics and Data Analysis, 1986,
 * eq. 3.31).
 * Where more than half of the samples are the same, R is 0 and s stands alone. 0: all are the same. */
double silverman_width(const double *samples, size_t n);

/* Draws random numbers by number: the n-th number of a seed, without those before it.
 *
 * A place is a few whole numbers, such as (iteration, rank, thread). Whoever asks for the same place gets the same
 * number, in any order, in any process. */

/* Returns a whole number from 0 to n - 1, all equally likely but for n / 2^64. n is not 0. */
uint64_t counted_below(uint64_t n, uint64_t seed, const uint64_t *place, size_t n_place);
/* Returns a number of the normal distribution of mean 0 and standard deviation 1. */
double counted_normal(uint64_t seed, const uint64_t *place, size_t n_place);

#endif
