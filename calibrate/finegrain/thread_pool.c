/* Three things keep threads apart: the lock, under which the pool is given work and says that it is done; a
 * counter of each part, whose last decrement is the right to send it; and the turn, which one waiting thread has.
 * A rank has at most one thread that polls MPI: all others sleep, so that a thread that arrives finds a processor
 * even where there are more threads than processors. */
#include "calibrate/finegrain/thread_pool.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "share/base/memory.h"
#include "share/base/monotonic.h"

/* Time before an arrival at which its sleep ends, s; the thread yields until then. */
#define WAKE_S 60e-6

enum { STACK_BYTES = 1 << 20 };

struct member {
    struct pool *pool;
    size_t number;
    pthread_t thread;
};

struct pool {
    struct member *members; /* [n_threads] */
    size_t n_threads, n_parts, n_started;
    pthread_mutex_t lock;
    pthread_cond_t begun, over;
    pthread_mutex_t turn;
    atomic_size_t *absent; /* [n_parts] threads of the part that have not arrived */
    /* The rest is written under the lock. */
    uint64_t round; /* the number of the iteration that was begun last */
    size_t n_done;
    bool ends;
    const struct pool_work *work;
    double start_s;
    const double *arrival_s;
    double *arrived_s;
};

/* Sleeps first and yields last: a sleep alone ends 20 to 70 us late where many threads wake up at once. */
static void sleep_until(double at_s)
{
    double wake_s = at_s - WAKE_S, whole_s = floor(wake_s);
    struct timespec wake = {.tv_sec = (time_t)whole_s, .tv_nsec = (long)((wake_s - whole_s) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) == EINTR)
        continue;
    while (clock_now_s() < at_s)
        sched_yield();
}

static void arrive(struct pool *pool, size_t thread)
{
    const struct pool_work *work = pool->work;
    size_t part = thread / (pool->n_threads / pool->n_parts);
    sleep_until(pool->start_s + pool->arrival_s[thread]);
    pool->arrived_s[thread] = clock_now_s() - pool->start_s;
    if (work->arrived != NULL)
        work->arrived(work->context, thread);
    if (work->ready == NULL || atomic_fetch_sub(&pool->absent[part], 1) != 1)
        return;
    work->ready(work->context, part);
    if (work->complete == NULL)
        return;
    pthread_mutex_lock(&pool->turn);
    work->complete(work->context, part);
    pthread_mutex_unlock(&pool->turn);
}

static void *live(void *argument)
{
    struct member *member = argument;
    struct pool *pool = member->pool;
    prctl(PR_SET_TIMERSLACK, 1UL); /* the kernel may else sum up sleeps within 50 us */
    for (uint64_t round = 1;; round++) {
        pthread_mutex_lock(&pool->lock);
        while (pool->round < round && !pool->ends)
            pthread_cond_wait(&pool->begun, &pool->lock);
        bool ends = pool->ends;
        pthread_mutex_unlock(&pool->lock);
        if (ends)
            return NULL;
        arrive(pool, member->number);
        pthread_mutex_lock(&pool->lock);
        if (++pool->n_done == pool->n_threads)
            pthread_cond_signal(&pool->over);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* Starts the threads. Returns 0, or an errno. */
static int start(struct pool *pool)
{
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure != 0)
        return failure;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < pool->n_threads && failure == 0; i++) {
        pool->members[i] = (struct member){.pool = pool, .number = i};
        failure = pthread_create(&pool->members[i].thread, &attributes, live, &pool->members[i]);
        pool->n_started += failure == 0;
    }
    pthread_attr_destroy(&attributes);
    return failure;
}

int pool_open(struct pool **opened, size_t n_threads, size_t n_parts, struct error *error)
{
    struct pool *pool = xcalloc(1, sizeof *pool);
    *pool = (struct pool){.n_threads = n_threads,
                          .n_parts = n_parts,
                          .members = xcalloc(n_threads, sizeof *pool->members),
                          .absent = xcalloc(n_parts, sizeof *pool->absent)};
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->turn, NULL);
    pthread_cond_init(&pool->begun, NULL);
    pthread_cond_init(&pool->over, NULL);
    int failure = start(pool);
    if (failure != 0) {
        error_set(error, "thread %zu of %zu cannot be started: %s", pool->n_started + 1, n_threads, strerror(failure));
        pool_close(pool);
        return -1;
    }
    *opened = pool;
    return 0;
}

void pool_run(struct pool *pool, const struct pool_work *work, double start_s, const double *arrival_s,
              double *arrived_s)
{
    for (size_t i = 0; i < pool->n_parts; i++)
        atomic_store(&pool->absent[i], pool->n_threads / pool->n_parts);
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->start_s = start_s;
    pool->arrival_s = arrival_s;
    pool->arrived_s = arrived_s;
    pool->n_done = 0;
    pool->round++;
    pthread_cond_broadcast(&pool->begun);
    while (pool->n_done < pool->n_threads)
        pthread_cond_wait(&pool->over, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void pool_close(struct pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ends = true;
    pthread_cond_broadcast(&pool->begun);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->n_started; i++)
        pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->begun);
    pthread_cond_destroy(&pool->over);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->turn);
    free(pool->members);
    free(pool->absent);
    free(pool);
}
