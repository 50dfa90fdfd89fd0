/* Keeps stacks of callers with MPISTAIR_STACK=n. */
#ifndef MPISTAIR_BACKEND_STACK_H
#define MPISTAIR_BACKEND_STACK_H

#include "interpose/backend/recorder/state.h"

/* Reads MPISTAIR_STACK and prepares what recorder.stack_frames then asks for; it is 0 without the variable. Rank 0
 * reports a wrong value or a missing libunwind on stderr; then stacks are not kept. Call it before recording. */
void stack_open(int rank);

/* Sets thread->stack to the number of the calling thread's stack, from the application's call at `site` on: 0 where the
 * function's records have no stack, or there are too many different ones. Stores a stack that is new. */
void stack_note(struct recorder_thread *thread, enum mpistair_function function, uint64_t site);

#endif
