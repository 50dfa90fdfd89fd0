/* The recorder's clock counts ticks of the TSC where the kernel itself trusts it (its clock source is "tsc"), and
 * nanoseconds of CLOCK_MONOTONIC elsewhere. A tick costs one unordered counter read. Every chunk takes a clock pair, by
 * which ingest maps ticks to the node's CLOCK_MONOTONIC afterwards, so nothing is calibrated while the job runs. */
#ifndef MPISTAIR_SPOOL_CLOCK_H
#define MPISTAIR_SPOOL_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "interpose/spool/event.h"

/* Returns the clock of this machine as /sys tells it; SPOOL_CLOCK_MONOTONIC where that cannot be read. */
enum spool_clock_source spool_clock_detect(void);

/* By how much this process's clocks are ahead of the node's: its time namespace's offsets. Zero where the kernel
 * does not tell them. */
struct spool_clock_namespace {
    int64_t monotonic_ns;
    int64_t boottime_ns;
};
struct spool_clock_namespace spool_clock_namespace(void);

/* Returns this process's CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Returns this node's CLOCK_MONOTONIC in nanoseconds, whatever time namespace the process is in, shifted where a test
 * asks for it. Clock pairs and links between nodes use it. */
uint64_t spool_clock_node_ns(void);

/* Shifts this node's clock for tests, by `spec`: HOST:OFFSET_NS[,PPM], several with a blank between. The first whose
 * HOST is `host` counts: the clock is OFFSET_NS nanoseconds ahead, and faster by PPM millionths. Ticks stay as they
 * are, so that recording costs the same. With SPOOL_CLOCK_MONOTONIC, where ticks are that clock, it has no effect. */
void spool_clock_test(const char *spec, const char *host);

/* Returns the present time in ticks of source. The builtin of gcc and clang is __rdtsc() as well, in a header that is
 * 47,000 lines more of every file that looks at the clock. */
static inline uint64_t clock_ticks(enum spool_clock_source source)
{
#if defined(__x86_64__)
    if (__builtin_expect(source == SPOOL_CLOCK_TSC, 1))
        return __builtin_ia32_rdtsc();
#endif
    (void)source;
    return clock_monotonic_ns();
}

/* Reads both clocks at one moment and returns the tightest of a few readings. Ticks that are CLOCK_MONOTONIC differ
 * from the node's by the offset of the namespace. */
struct spool_clock_pair spool_clock_pair(enum spool_clock_source source);

/* Reads a file of a few lines of /proc or /sys, as much as fits. Returns its length; text is empty where there is
 * none. */
size_t spool_read_text(const char *path, char *text, size_t size);

#endif
