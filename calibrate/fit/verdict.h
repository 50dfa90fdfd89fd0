/* Judges a machine table: what it can be used for, and what not, after what is suspicious in it. */
#ifndef MPISTAIR_CALIBRATE_VERDICT_H
#define MPISTAIR_CALIBRATE_VERDICT_H

#include <stdio.h>

#include "calibrate/fit/doubts.h"

/* What tables are used for. */
enum verdict_use {
    VERDICT_LATENCY,   /* of a level */
    VERDICT_BANDWIDTH, /* of a level, up to the largest n that was measured */
    VERDICT_QUEUES,
    VERDICT_NETWORK, /* contention in it, how it smooths bursts, and what waits before it */
    VERDICT_CALLS,   /* what posts cost */
    VERDICT_MEMORY,
    VERDICT_USES
};

enum verdict_word { VERDICT_USABLE, VERDICT_USABLE_FOR, VERDICT_DO_NOT_USE };
extern const char *const verdict_word[]; /* "usable", "usable for", "do not use" */

struct verdict {
    enum verdict_word word;
    char uses[512];     /* "latency and bandwidth (n up to 4) within a socket, queue search"; "": none */
    char not_uses[512]; /* of what the table has; "": all of it is usable */
    char reason[640];   /* a sentence */
    struct doubts doubts;
};

/* Judges machine, for verdict_release; samples as in doubts_find. */
struct verdict verdict_make(const struct machine *machine, const struct samples *samples);
void verdict_release(struct verdict *verdict);

/* Calls line with each doubt, or (unless all) with those of one kind on one quantity joined. */
void verdict_each_doubt(const struct verdict *verdict, bool all, void (*line)(void *context, const char *text),
                        void *context);

#endif
