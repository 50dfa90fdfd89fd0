/* The variables of the recorder, and the memory that a thread borrows for one call. */
#include "interpose/backend/recorder/state.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/utf8.h"

struct recorder recorder;
_Thread_local struct recorder_thread *recorder_thread;

void *recorder_allocate(size_t bytes)
{
    int saved_errno = errno;
    void *memory = calloc(1, bytes);
    errno = saved_errno;
    return memory;
}

void start_recording(void)
{
    enum recording_kind kind = recorder.stack_frames != 0 || recorder.clock_source != SPOOL_CLOCK_TSC
                                   ? RECORDING_OTHERWISE
                               : recorder.multiple ? RECORDING_THREADS
                                                   : RECORDING_PLAINLY;
    __atomic_store_n(&recorder.recording, (int)kind, __ATOMIC_RELEASE);
}

int16_t ask_processor(void)
{
    return (int16_t)sched_getcpu(); /* Linux knows at most 8,192 processors */
}

void *scratch_borrow(struct scratch *scratch, size_t bytes)
{
    int saved_errno = errno;
    void *memory = scratch->memory;
    if (scratch->busy) {
        memory = malloc(bytes);
    } else if (bytes > scratch->bytes) {
        memory = realloc(scratch->memory, bytes * 2);
        if (memory) {
            scratch->memory = memory;
            scratch->bytes = bytes * 2;
        }
    }
    if (memory == scratch->memory)
        scratch->busy = 1;
    errno = saved_errno;
    return memory;
}

void scratch_return(struct scratch *scratch, void *memory)
{
    if (memory && memory == scratch->memory)
        scratch->busy = 0;
    else
        free(memory);
}

void say_line(const char *format, ...)
{
    char text[4 * PATH_MAX]; /* a command has three names of files */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    utf8_clean(text, text, strlen(text));
    fprintf(stderr, "mpistair: %s\n", text);
}
