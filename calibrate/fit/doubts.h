/* Doubts about a machine table: what a reader should not believe without a second look. Papers are named as in
 * share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_DOUBTS_H
#define MPISTAIR_CALIBRATE_DOUBTS_H

#include "calibrate/machine/machine.h"
#include "calibrate/samples/samples.h"

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

#endif
