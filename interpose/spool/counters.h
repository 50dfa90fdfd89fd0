/* What the kernel counts of a process while it runs, byte by byte: samples behind the header of its spool.
 *
 * Samples have all that was counted since the process began, so that one that is left out costs no event: where the
 * room is full every other one is, and the time between them doubles. A process that is killed meanwhile leaves some
 * that are no later than the one before; readers pass over these. The last sample is that of MPI_Finalize, where it got
 * there. */
#ifndef MPISTAIR_SPOOL_COUNTERS_H
#define MPISTAIR_SPOOL_COUNTERS_H

#include "interpose/spool/event.h"

#define SPOOL_COUNTERS_OFFSET   32768U
#define SPOOL_COUNTERS_FIRST_NS UINT64_C(100000000) /* between samples, at first */

enum { SPOOL_COUNTER_SAMPLES = 255 };

/* What a sample counts. All but COUNTER_WAIT_NS and COUNTER_CLOCK are of all threads, without those of the recorder. */
enum spool_counter {
    COUNTER_USER_NS,
    COUNTER_SYSTEM_NS,
    COUNTER_WAIT_NS, /* the main thread was ready to run while others had its processor */
    COUNTER_VOLUNTARY,
    COUNTER_INVOLUNTARY, /* switches: the processor was taken away */
    COUNTER_MINOR_FAULTS,
    COUNTER_MAJOR_FAULTS, /* pages that came from a disk */
    COUNTER_MIGRATIONS,
    COUNTER_INSTRUCTIONS, /* in user mode, as cycles */
    COUNTER_CYCLES,
    COUNTER_CLOCK, /* cycles of the clock of the processor on which the main thread was: kHz times ms */
    COUNTERS
};

struct spool_counter_sample {
    uint64_t at_ns;           /* CLOCK_MONOTONIC of the node */
    uint64_t value[COUNTERS]; /* SPOOL_NOT_KNOWN: not known */
    uint64_t pad[4];
};

/* Why instructions and cycles are not known. */
enum spool_counters_perf {
    COUNTERS_PERF_UNKNOWN = 0,
    COUNTERS_PERF_THERE = 1,
    COUNTERS_PERF_FORBIDDEN = 2, /* by perf_event_paranoid, or by a filter of seccomp */
    COUNTERS_PERF_NONE = 3,      /* this machine, often a virtual one, has none */
};

struct spool_counters {
    uint32_t n; /* stored last (release); 0: nothing was counted */
    uint32_t perf;
    uint64_t interval_ns;
    uint64_t pad[14];
    struct spool_counter_sample samples[SPOOL_COUNTER_SAMPLES];
};

_Static_assert(sizeof(struct spool_counter_sample) == 128, "a sample is two cache lines");
_Static_assert(sizeof(struct spool_header) <= SPOOL_COUNTERS_OFFSET, "the header must not reach the samples");
_Static_assert(SPOOL_COUNTERS_OFFSET + sizeof(struct spool_counters) <= SPOOL_HEADER_BYTES, "samples must fit");

/* Returns the samples of a mapped header. */
static inline struct spool_counters *spool_counters_of(struct spool_header *header)
{
    return (struct spool_counters *)(void *)((char *)header + SPOOL_COUNTERS_OFFSET);
}

#endif
