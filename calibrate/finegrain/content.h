/* Fills buffers with bytes that tell who sent them, in which iteration and for which place, and compares what
 * arrived. */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_CONTENT_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_CONTENT_H

#include <stdint.h>

#include "calibrate/finegrain/layout.h"

/* Writes a range of a buffer of `rank`; stamp is another one in each iteration. */
void content_fill(char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp);

/* Returns the first byte of a range that is not what content_fill() wrote; the range's end if all are. */
size_t content_differs(const char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp);

#endif
