/* Runs the threads of an iteration: each sleeps until its arrival, and the last of a bin sends the bin's part.
 *
 * They are POSIX threads that live as long as the program, since ThreadSanitizer knows what these do and takes the
 * barriers of an OpenMP library for races. The thread that owns the pool sleeps meanwhile; it is none of the pool. */
#ifndef MPISTAIR_CALIBRATE_THREAD_POOL_H
#define MPISTAIR_CALIBRATE_THREAD_POOL_H

#include <stddef.h>

#include "share/base/error.h"

struct pool;

/* What the threads do. The functions are called by threads of the pool. */
struct pool_work {
    /* Called by each thread when it has arrived; NULL: nothing is done. */
    void (*arrived)(void *context, size_t thread);
    /* Called for a part by the thread that arrives last of the part's threads; NULL: parts are not looked at. */
    void (*ready)(void *context, size_t part);
    /* Waits for what ready() began, by the same thread. One thread at a time is in here, so that the processors are
     * left to those that arrive later; NULL: there is nothing to wait for. */
    void (*complete)(void *context, size_t part);
    void *context;
};

/* Starts n_threads threads for n_parts parts, a divisor. Returns 0, or -1 with the reason when none runs. */
int pool_open(struct pool **pool, size_t n_threads, size_t n_parts, struct error *error);

/* Lets thread t arrive arrival_s[t] after start_s (clock_now_s()), and returns when all are done. arrived_s[t] is
 * when it was really there, after start_s as well. */
void pool_run(struct pool *pool, const struct pool_work *work, double start_s, const double *arrival_s,
              double *arrived_s);

void pool_close(struct pool *pool);

#endif
