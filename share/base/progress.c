/* Reads the coarse clock, so that a step costs a few nanoseconds and may be called in every turn of a loop. */
#include "share/base/progress.h"

#include <stdio.h>
#include <unistd.h>

static double seconds_since(const struct timespec *before, const struct timespec *now)
{
    return (double)(now->tv_sec - before->tv_sec) + 1e-9 * (double)(now->tv_nsec - before->tv_nsec);
}

void progress_start(struct progress *progress, const char *what)
{
    *progress = (struct progress){.what = what, .terminal = isatty(STDERR_FILENO) == 1};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &progress->last);
}

void progress_step(struct progress *progress, size_t n)
{
    struct timespec now;
    if (!progress->terminal)
        return;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (seconds_since(&progress->last, &now) < (progress->shown ? 0.5 : 2.0))
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
