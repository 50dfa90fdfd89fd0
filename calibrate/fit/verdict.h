/* Judges a machine table: what it can be used for, and what not, after what is suspicious in it. */
#ifndef MPISTAIR_CALIBRATE_VERDICT_H
#define MPISTAIR_CALIBRATE_VERDICT_H

#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

/* Doubts about a machine table: what a reader should not believe without a second look. Papers are named as in
 * share/doc/MODELS.md. */

/* Doubts of one kind on values of one quantity can be printed together. */
enum doubt_kind {
    DOUBT_FEW_SAMPLES, /* size: how many */
    DOUBT_NO_END,
    DOUBT_WIDE,      /* size: width of the interval over the value */
    DOUBT_PROMISES,  /* size: promised over best measured rate */
    DOUBT_ODD,       /* no machine should have such values: what two of them are to each other */
    DOUBT_DRIFT,     /* size: relative standard deviation of the machine's own speed */
    DOUBT_DISTURBED, /* size: share of the samples */
    DOUBT_STEAL,     /* size: share of the processors */
};

struct doubt {
    enum doubt_kind kind;
    const struct machine_parameter *row; /* of the machine */
    double size;
    char place[128];    /* "intra_socket any bw 4" */
    char sentence[512]; /* "intra_socket any bw 4: only 9 samples" */
};

struct doubts {
    const struct machine *machine;
    struct doubt *doubts; /* [n] */
    size_t n;
};

/* Finds the doubts about a machine, for doubts_release; the machine must outlive them:
 *
 *   - BW above the best measured rate (only with the sorted samples to which the table was fitted, else NULL)
 *   - N/BW that falls with N
 *   - BW(1) < BW(2)/2 (T Table I has such rows: a single message against bidirectional ones)
 *   - an injection rate below a bw of its level
 *   - fewer than 10 samples (but not for what a search found)
 *   - an interval wider than 10 % or without an end (but not for a cost whose interval reaches 0, nor for overhead
 *     and progress)
 *   - rows of memory contention that do not fit together
 *
 * Rows without samples and interval (from print) are not asked for them. */
struct doubts doubts_find(const struct machine *machine, const struct samples *samples);
void doubts_release(struct doubts *doubts);

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
