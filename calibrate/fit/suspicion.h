/* Finds what a reader of a machine table should not believe without a second look. Papers are named as in
 * share/doc/MODELS.md. */
#ifndef MPISTAIR_CALIBRATE_SUSPICION_H
#define MPISTAIR_CALIBRATE_SUSPICION_H

#include "calibrate/samples/samples.h"
#include "calibrate/fit/suspicion_say.h"

/* Calls report with one suspicion for each of these, whose texts live for that call; returns their number:
 *
 *   - BW above the best measured rate (only with the sorted samples to which the table was fitted, else NULL)
 *   - N/BW that falls with N
 *   - BW(1) < BW(2)/2 (T Table I has such rows: a single message against bidirectional ones)
 *   - an injection rate below a bw of its level
 *   - fewer than 10 samples (but not for what a search found)
 *   - an interval wider than 10 % or without an end (but not for a cost whose interval reaches 0, nor for overhead
 *     and progress)
 *   - rows of memory contention that do not fit together (suspicion_memory.h)
 *
 * Rows without samples and interval (from print) are not asked for them. */
int suspicion_find(const struct machine *machine, const struct samples *samples,
                   void (*report)(void *context, const struct suspicion *suspicion), void *context);

#endif
