/* Threads that read a window of all ranks while the one before is taken. */
#ifndef MPISTAIR_TRACE_AHEAD_H
#define MPISTAIR_TRACE_AHEAD_H

#include "interpose/trace/stream/rank_reading.h"

struct ahead;

/* Starts up to n_threads threads for readings[n], which belong to them from ahead_read to ahead_wait. Returns NULL for
 * no thread, and where none can be started. */
struct ahead *ahead_begin(struct rank_reading *readings, size_t n, size_t n_threads);
/* Has all ranks read the window. */
void ahead_read(struct ahead *ahead, struct window window);
/* Helps to read that window until it is read. Returns what was found of each rank, valid until the next but one
 * ahead_read. */
const struct rank_window *ahead_wait(struct ahead *ahead);
/* Ends the threads; NULL: nothing to do. */
void ahead_end(struct ahead *ahead);

#endif
