/* Stacks of callers, kept with MPISTAIR_STACK=n. */
#ifndef MPISTAIR_BACKEND_STACK_H
#define MPISTAIR_BACKEND_STACK_H

#include "interpose/backend/recorder/recorder.h"

/* Reads MPISTAIR_STACK and makes ready what recorder.stack_frames then asks for: 0 without it. What is wrong with it,
 * or that there is no libunwind, rank 0 says on stderr; stacks are then not kept. To be called before recording. */
void stack_open(int rank);

/* thread->stack becomes the number of the calling thread's stack, from the application's call at `site` on: 0 where the
 * function's records have no stack, or there are too many different ones. Stores a stack that is new. */
void stack_note(struct recorder_thread *thread, enum mpistair_function function, uint64_t site);

#endif
