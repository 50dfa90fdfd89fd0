/* Shows progress on stderr, for work of more than a second, only where stderr is a terminal. */
#ifndef MPISTAIR_BASE_PROGRESS_H
#define MPISTAIR_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Names the step that begins, as "report: rounds", whose seconds are shown from the second one on; NULL ends the last
 * one and wipes its line. what is borrowed until the next call. Errors end it, too. */
void progress_show(const char *what);

/* Counts steps of which there are many. */
struct progress {
    const char *what;
    bool terminal;
    bool shown;
    struct timespec last;
};

/* Starts a count, and ends what progress_show() named. what, as "predict: kinds of round", is borrowed. */
void progress_start(struct progress *progress, const char *what);
/* Shows what and n, at most twice a second. It costs little. */
void progress_step(struct progress *progress, size_t n);
/* Wipes what was shown. */
void progress_end(struct progress *progress);

#endif
