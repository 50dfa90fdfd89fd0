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

/* What a sample counts. All but COUNTER_WAIT_NS and COUNTER_CLOCK are of all threads but the one that counts. */
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
    /* Of OpenMP, where its runtime tells (interpose/preload/openmp.c); 0: it does not, or had no parallel region. */
    COUNTER_OPENMP_REGION_NS, /* parallel regions, from begin to end */
    COUNTER_OPENMP_THREAD_NS, /* the same, of all their threads together */
    COUNTER_OPENMP_IDLE_NS,   /* of that, in barriers without a task to run */
    COUNTERS
};

struct spool_counter_sample {
    uint64_t at_ns;           /* CLOCK_MONOTONIC of the node */
    uint64_t value[COUNTERS]; /* SPOOL_NOT_KNOWN: not known */
    uint64_t pad;
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

/* What went through the network interfaces of the node, of all its programs, behind the header of the node's first
 * process. Samples are as those above. */
#define SPOOL_NETWORK_OFFSET   16384U
#define SPOOL_NETWORK_FIRST_NS UINT64_C(1000000000)

enum { SPOOL_INTERFACES = 6, SPOOL_NETWORK_SAMPLES = 62 };

enum spool_network_counter {
    NETWORK_IN_BYTES,
    NETWORK_OUT_BYTES,
    NETWORK_PACKETS,         /* both ways */
    NETWORK_ERRORS,          /* and packets that were dropped */
    NETWORK_RETRANSMISSIONS, /* of TCP for the interface "tcp", which has nothing else */
    NETWORK_COUNTERS
};

struct spool_network_sample {
    uint64_t at_ns; /* as in spool_counter_sample */
    uint64_t value[SPOOL_INTERFACES][NETWORK_COUNTERS];
    uint64_t pad;
};

struct spool_network {
    uint32_t n; /* stored last (release) */
    uint32_t n_interfaces;
    uint64_t interval_ns;
    char names[SPOOL_INTERFACES][32]; /* ended by 0 */
    uint64_t pad[6];
    struct spool_network_sample samples[SPOOL_NETWORK_SAMPLES];
};

_Static_assert(sizeof(struct spool_network_sample) == 256, "a sample of the network has no holes");
_Static_assert(sizeof(struct spool_header) <= SPOOL_NETWORK_OFFSET, "the header must not reach the network");
_Static_assert(SPOOL_NETWORK_OFFSET + sizeof(struct spool_network) <= SPOOL_COUNTERS_OFFSET, "it must fit, too");
_Static_assert(sizeof(struct spool_counter_sample) == 128, "a sample is two cache lines");
_Static_assert(SPOOL_COUNTERS_OFFSET + sizeof(struct spool_counters) <= SPOOL_HEADER_BYTES, "samples must fit");

/* Returns the samples of a mapped header. */
static inline struct spool_counters *spool_counters_of(struct spool_header *header)
{
    return (struct spool_counters *)(void *)((char *)header + SPOOL_COUNTERS_OFFSET);
}

static inline struct spool_network *spool_network_of(struct spool_header *header)
{
    return (struct spool_network *)(void *)((char *)header + SPOOL_NETWORK_OFFSET);
}

#endif
