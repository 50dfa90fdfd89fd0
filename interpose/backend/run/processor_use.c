/* Ranks spin while they wait, so a rank without a processor of its own looks like one that waits for messages. The
 * kernel knows better: schedstat has the time that a thread was ready to run while others had its processor. It is read
 * for the main thread, which calls MPI in most programs; threads that come and go would take their times along. */
#include "interpose/backend/run/processor_use.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "interpose/backend/run/proc.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t time_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_usec * 1000;
}

static uint64_t wait_ns(void)
{
    size_t length;
    uint64_t run = 0, wait = 0;
    char *text = proc_read(getpid(), "schedstat", &length);
    int is_known = text && sscanf(text, "%" SCNu64 " %" SCNu64, &run, &wait) == 2 && run > 0;
    free(text);
    return is_known ? wait : SPOOL_NOT_KNOWN;
}

struct spool_processor_use processor_use(void)
{
    struct timespec now;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0 || clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return (struct spool_processor_use){0};
    return (struct spool_processor_use){
        .at_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec,
        .run_ns = time_ns(usage.ru_utime) + time_ns(usage.ru_stime),
        .wait_ns = wait_ns(),
        .involuntary_switches = usage.ru_nivcsw > 0 ? (uint64_t)usage.ru_nivcsw : 0,
    };
}
