/* Three things keep threads apart: the lock, under which the crew is given work and says that it is done; a
 * counter of each part, whose last decrement is the right to send it; and the turn, which one waiting thread has.
 * A rank has at most one thread that polls MPI: all others sleep, so that a thread that arrives finds a processor
 * even where there are more threads than processors. */
#include "calibrate/finegrain/crew.h"

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

#include "share/base/monotonic.h"

/* A sleep is over so long before its time. */
#define WAKE_S 60e-6

enum { STACK_BYTES = 1 << 20 };

struct member {
    struct crew *crew;
    size_t number;
    pthread_t thread;
};

struct crew {
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
    const struct crew_work *work;
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

static void arrive(struct crew *crew, size_t thread)
{
    const struct crew_work *work = crew->work;
    size_t part = thread / (crew->n_threads / crew->n_parts);
    sleep_until(crew->start_s + crew->arrival_s[thread]);
    crew->arrived_s[thread] = clock_now_s() - crew->start_s;
    if (work->arrived != NULL)
        work->arrived(work->context, thread);
    if (work->ready == NULL || atomic_fetch_sub(&crew->absent[part], 1) != 1)
        return;
    work->ready(work->context, part);
    if (work->complete == NULL)
        return;
    pthread_mutex_lock(&crew->turn);
    work->complete(work->context, part);
    pthread_mutex_unlock(&crew->turn);
}

static void *live(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    prctl(PR_SET_TIMERSLACK, 1UL); /* the kernel may else sum up sleeps within 50 us */
    for (uint64_t round = 1;; round++) {
        pthread_mutex_lock(&crew->lock);
        while (crew->round < round && !crew->ends)
            pthread_cond_wait(&crew->begun, &crew->lock);
        bool ends = crew->ends;
        pthread_mutex_unlock(&crew->lock);
        if (ends)
            return NULL;
        arrive(crew, member->number);
        pthread_mutex_lock(&crew->lock);
        if (++crew->n_done == crew->n_threads)
            pthread_cond_signal(&crew->over);
        pthread_mutex_unlock(&crew->lock);
    }
}

/* Starts the threads. Returns 0, or an errno. */
static int start(struct crew *crew)
{
    pthread_attr_t attributes;
    int failure = pthread_attr_init(&attributes);
    if (failure != 0)
        return failure;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < crew->n_threads && failure == 0; i++) {
        crew->members[i] = (struct member){.crew = crew, .number = i};
        failure = pthread_create(&crew->members[i].thread, &attributes, live, &crew->members[i]);
        crew->n_started += failure == 0;
    }
    pthread_attr_destroy(&attributes);
    return failure;
}

int crew_open(struct crew **opened, size_t n_threads, size_t n_parts, struct error *error)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL)
        return error_set(error, "no memory");
    *crew = (struct crew){.n_threads = n_threads,
                          .n_parts = n_parts,
                          .members = calloc(n_threads, sizeof *crew->members),
                          .absent = calloc(n_parts, sizeof *crew->absent)};
    pthread_mutex_init(&crew->lock, NULL);
    pthread_mutex_init(&crew->turn, NULL);
    pthread_cond_init(&crew->begun, NULL);
    pthread_cond_init(&crew->over, NULL);
    int failure = crew->members != NULL && crew->absent != NULL ? start(crew) : ENOMEM;
    if (failure != 0) {
        error_set(error, "thread %zu of %zu cannot be started: %s", crew->n_started + 1, n_threads, strerror(failure));
        crew_close(crew);
        return -1;
    }
    *opened = crew;
    return 0;
}

void crew_run(struct crew *crew, const struct crew_work *work, double start_s, const double *arrival_s,
              double *arrived_s)
{
    for (size_t i = 0; i < crew->n_parts; i++)
        atomic_store(&crew->absent[i], crew->n_threads / crew->n_parts);
    pthread_mutex_lock(&crew->lock);
    crew->work = work;
    crew->start_s = start_s;
    crew->arrival_s = arrival_s;
    crew->arrived_s = arrived_s;
    crew->n_done = 0;
    crew->round++;
    pthread_cond_broadcast(&crew->begun);
    while (crew->n_done < crew->n_threads)
        pthread_cond_wait(&crew->over, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

void crew_close(struct crew *crew)
{
    if (crew == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->ends = true;
    pthread_cond_broadcast(&crew->begun);
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < crew->n_started; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_cond_destroy(&crew->begun);
    pthread_cond_destroy(&crew->over);
    pthread_mutex_destroy(&crew->lock);
    pthread_mutex_destroy(&crew->turn);
    free(crew->members);
    free(crew->absent);
    free(crew);
}
