/* Finds what a reader of a machine table should not believe without a second look. Papers are named as in
 * share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_SUSPICION_H
#define MPISTAIR_CALIBRATE_SUSPICION_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"
#include "calibrate/fit/samples.h"

/* Says in which way a doubt is one; doubts of one kind on values of one quantity can be told together. */
enum suspicion_kind {
    SUSPICION_FEW_SAMPLES, /* size: how many */
    SUSPICION_NO_END,
    SUSPICION_WIDE,      /* size: width of the interval over the value */
    SUSPICION_PROMISES,  /* size: promised over best measured rate */
    SUSPICION_ODD,       /* no machine should have such values: what two of them are to each other */
    SUSPICION_DRIFT,     /* size: relative standard deviation of the machine's own speed */
    SUSPICION_DISTURBED, /* size: share of the samples */
    SUSPICION_STEAL,     /* size: share of the processors */
};

struct suspicion {
    const struct machine_parameter *row;
    enum suspicion_kind kind;
    double size;
    const char *place;    /* "intra_socket any bw 4" */
    const char *sentence; /* "intra_socket any bw 4: only 9 samples" */
};

/* Calls report with one suspicion for each of these, whose texts live for that call; returns their number:
 *
 *   - BW above the best measured rate (only with the sorted samples to which the table was fitted, else NULL)
 *   - N/BW that falls with N
 *   - BW(1) < BW(2)/2 (T Table I has such rows: a single message against bidirectional ones)
 *   - an injection rate below a bw of its level
 *   - fewer than 10 samples (but not for what a search found)
 *   - an interval wider than 10 % or without an end (but not for a cost whose interval reaches 0, nor for overhead
 *     and progress)
 *
 * Rows without samples and interval (from print) are not asked for them. */
int suspicion_find(const struct machine *machine, const struct samples *samples,
                   void (*report)(void *context, const struct suspicion *suspicion), void *context);

#endif
