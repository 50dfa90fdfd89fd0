/* A count reads the coarse clock, so that a step costs a few nanoseconds and may be called in every turn of a loop.
 * Work without turns is shown by a thread of its own, which sleeps while nothing is named. */
#include "share/base/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* What the thread shows; lock guards it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, failed, shown;
    const char *what;
    struct timespec since;
} current_step = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static double seconds_since(const struct timespec *before, const struct timespec *now)
{
    return (double)(now->tv_sec - before->tv_sec) + 1e-9 * (double)(now->tv_nsec - before->tv_nsec);
}

static void *show_steps(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&current_step.lock);
    for (;;) {
        struct timespec now;
        if (current_step.what == NULL) {
            pthread_cond_wait(&current_step.changed, &current_step.lock);
            continue;
        }
        clock_gettime(CLOCK_REALTIME, &now);
        now.tv_nsec += 500000000;
        now.tv_sec += now.tv_nsec / 1000000000;
        now.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&current_step.changed, &current_step.lock, &now);
        clock_gettime(CLOCK_MONOTONIC, &now);
        double seconds = current_step.what != NULL ? seconds_since(&current_step.since, &now) : 0;
        if (seconds > 1) {
            fprintf(stderr, "\r%s: %.0f s\033[K", current_step.what, seconds);
            current_step.shown = true;
        }
    }
    return NULL;
}

/* Starts the thread; without it nothing is shown. */
static void step_thread_start(void)
{
    pthread_t thread;
    pthread_attr_t detached;
    current_step.started = true;
    current_step.failed = isatty(STDERR_FILENO) != 1 || pthread_attr_init(&detached) != 0;
    if (current_step.failed)
        return;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    current_step.failed = pthread_create(&thread, &detached, show_steps, NULL) != 0;
    pthread_attr_destroy(&detached);
}

void progress_show(const char *what)
{
    pthread_mutex_lock(&current_step.lock);
    if (!current_step.started && what != NULL)
        step_thread_start();
    if (current_step.shown)
        fputs("\r\033[K", stderr);
    current_step.shown = false;
    current_step.what = current_step.failed ? NULL : what;
    clock_gettime(CLOCK_MONOTONIC, &current_step.since);
    pthread_cond_signal(&current_step.changed);
    pthread_mutex_unlock(&current_step.lock);
}

void progress_start(struct progress *progress, const char *what)
{
    progress_show(NULL);
    *progress = (struct progress){.what = what, .terminal = isatty(STDERR_FILENO) == 1};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &progress->last);
}

void progress_step(struct progress *progress, size_t n)
{
    struct timespec now;
    if (!progress->terminal)
        return;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (seconds_since(&progress->last, &now) < (progress->shown ? 0.5 : 1.0))
        return;
    progress->shown = true;
    progress->last = now;
    fprintf(stderr, "\r%s: %zu\033[K", progress->what, n);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
}
