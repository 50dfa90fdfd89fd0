/* The memory in which a buffer lies, where the process uses a GPU.
 *
 * NVIDIA's driver is asked, and only where the program itself has loaded it and has a context: nothing is loaded here,
 * and no context made. Where the driver is not loaded a call costs one comparison; about every millisecond of calls one
 * of them looks whether it is by now. */
#ifndef MPISTAIR_BACKEND_BUFFER_MEMORY_H
#define MPISTAIR_BACKEND_BUFFER_MEMORY_H

#include "interpose/backend/recorder/state.h"

/* When to look next, in ticks; 0: the driver is there. */
extern uint64_t buffer_memory_look_ticks;

unsigned buffer_memory_ask(const struct recorded_call *call, const void *buffer);

/* Returns enum spool_memory of the byte at buffer. MPI_BOTTOM, which says nothing of where the data lie, is the host's.
 */
static inline unsigned buffer_memory(const struct recorded_call *call, const void *buffer)
{
    if (__builtin_expect(call->begin_ticks < __atomic_load_n(&buffer_memory_look_ticks, __ATOMIC_RELAXED), 1))
        return SPOOL_MEMORY_HOST;
    return buffer_memory_ask(call, buffer);
}

#endif
