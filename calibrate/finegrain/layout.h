/* Says which bytes a thread fills and with what, which bytes a part has, and who gets which buffer: both sides know it
 * beforehand, so that sizes need no message and nothing is copied. */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_LAYOUT_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

struct byte_range {
    size_t begin, bytes;
};

/* Returns the bytes of part k of K parts of a buffer. */
struct byte_range layout_part(size_t buffer_bytes, size_t n_parts, size_t part);

/* Returns the bytes of a thread's user partition. Those of the threads of a part, n_threads / n_parts neighbours,
 * fill the part. */
struct byte_range layout_user(size_t buffer_bytes, size_t n_threads, size_t n_parts, size_t thread);

/* Returns how far up the ring of `ranks` >= 2 the rank is that gets the buffer: 1, -1, 2, -2, ... for buffers 0,
 * 1, 2, 3, ... With fewer ranks than peers + 1 the distances begin again behind ranks - 1: no rank sends to
 * itself. */
int layout_distance(size_t buffer, int ranks);

/* Returns the rank at that distance. */
int layout_rank(int rank, int distance, int ranks);

/* Returns the most buffers that a rank sends to the same one: 1 where there are more ranks than peers. */
size_t layout_buffers_per_rank(size_t peers, int ranks);

/* Checks that so many ranks can have so many peers. Returns 0, or -1 with what to do. */
int layout_check(size_t peers, int ranks, int fold, struct error *error);

/* Writes a range of a buffer of `rank`; stamp is another one in each iteration. */
void layout_fill(char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp);

/* Returns the first byte of a range that is not what layout_fill() wrote; the range's end if all are. */
size_t layout_differs(const char *buffer, struct byte_range range, int rank, size_t number, uint64_t stamp);

#endif
