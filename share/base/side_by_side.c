/* Threads take the next job from a counter until none is left. Where no thread can be started the others do its work.
 */
#include "share/base/side_by_side.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

enum { MAX_THREADS = 64 };

struct jobs {
    size_t n;
    int (*job)(void *context, size_t number, struct error *error);
    void *context;
    atomic_size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the smallest number that failed, SIZE_MAX: none */
    struct error *error;
};

static void *work(void *argument)
{
    struct jobs *jobs = argument;
    for (;;) {
        struct error error = {.text = ""};
        size_t number = atomic_fetch_add(&jobs->next, 1);
        if (number >= jobs->n)
            return NULL;
        if (jobs->job(jobs->context, number, &error) == 0)
            continue;
        pthread_mutex_lock(&jobs->lock);
        if (number < jobs->failed) {
            jobs->failed = number;
            if (jobs->error != NULL)
                *jobs->error = error;
        }
        pthread_mutex_unlock(&jobs->lock);
        atomic_store(&jobs->next, jobs->n); /* those before it have been taken */
    }
}

size_t usable_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

int side_by_side(size_t n_jobs, size_t n_threads, int (*job)(void *context, size_t number, struct error *error),
                 void *context, struct error *error)
{
    struct jobs jobs = {.n = n_jobs,
                        .job = job,
                        .context = context,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .failed = SIZE_MAX,
                        .error = error};
    pthread_t threads[MAX_THREADS];
    size_t wanted = n_threads > 0 ? n_threads : usable_processors(), n_started = 0;
    wanted = wanted < n_jobs ? wanted : n_jobs;
    while (n_started + 1 < wanted && n_started < MAX_THREADS &&
           pthread_create(&threads[n_started], NULL, work, &jobs) == 0)
        n_started++;
    work(&jobs);
    for (size_t i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&jobs.lock);
    return jobs.failed == SIZE_MAX ? 0 : -1;
}
