/* A thread that makes rows of what a window completed while messages of the next one are found. */
#ifndef MPISTAIR_TRACE_BEHIND_H
#define MPISTAIR_TRACE_BEHIND_H

#include <pthread.h>

#include "interpose/trace/stream/round_rows.h"

struct behind {
    struct round_rows rows;
    struct complete_rows complete[2];
    unsigned filling; /* index of the one that is filled */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock guards what follows. */
    bool full; /* the other one waits or becomes rows */
    bool ended;
    int result; /* -1: the database says why */
};

/* The sink belongs to it until behind_end. Without a thread, or where none can start, the caller makes the rows. */
void behind_begin(struct behind *behind, struct trace *trace, struct sink *sink, bool with_thread);
/* Returns what is filled for the next behind_write. */
struct complete_rows *behind_filling(struct behind *behind);
/* Makes rows of that. Returns 0, or -1 if it failed, now or before: the database says why. */
int behind_write(struct behind *behind);
/* Waits for the last row, and hands the sums over all to the sink. Returns as behind_write. */
int behind_end(struct behind *behind);
void behind_release(struct behind *behind);

#endif
