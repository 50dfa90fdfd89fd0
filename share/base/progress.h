/* Shows a counter on stderr for work of more than 2 s, only where stderr is a terminal. */
#ifndef MPISTAIR_BASE_PROGRESS_H
#define MPISTAIR_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct progress {
    const char *what;
    bool terminal;
    bool shown;
    struct timespec last;
};

/* Starts a count. what, as "predict: kinds of round", is borrowed. */
void progress_start(struct progress *progress, const char *what);
/* Shows what and n, at most twice a second. It costs little. */
void progress_step(struct progress *progress, size_t n);
/* Wipes what was shown. */
void progress_end(struct progress *progress);

#endif
