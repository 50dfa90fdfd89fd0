/* Raw samples of calibration, and what a fit takes from them: one time a size.
 *
 * RAW.csv has a header with level,bytes,seconds and optionally the other columns of measure.h; columns that are not
 * known are ignored. Rows without benchmark, or of one that is not known, count as ping-pong. Curves are made of
 * ping-pong and Algorithm 1 only. Where rows with n = 1 come from both, the first give the latencies and the small
 * messages, the second the bandwidth of the large ones (fit_machine.h). Every other benchmark has a fit of its own.
 *
 * Disturbed samples (probing.h) are left out wherever what they measured was measured again without a disturbance. */
#ifndef MPISTAIR_CALIBRATE_SAMPLES_H
#define MPISTAIR_CALIBRATE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "calibrate/machine/machine.h"
#include "calibrate/samples/probing.h"

/* The benchmarks and their names in the column benchmark. */
#define BENCHMARKS(X)                                                                                                  \
    X(PINGPONG, "pingpong")                                                                                            \
    X(ALGORITHM1, "algorithm1")                                                                                        \
    X(SELF, "self")             /* between a rank and itself */                                                        \
    X(INJECTION, "injection")   /* all of a node to other nodes, one way */                                            \
    X(QUEUE, "queue")           /* n messages in order or reversed; seconds of all of them */                          \
    X(CONTENTION, "contention") /* n pairs of processes across one link, alone or together */                          \
    X(BUFFER, "buffer")         /* bytes that the transport takes, or not, while the receiver is paused */             \
    X(EAGER, "eager")           /* bytes that crossed blocking sends return with, or not, without a receive */         \
    X(OVERHEAD, "overhead")     /* seconds of one MPI_Isend or MPI_Irecv */                                            \
    X(PROGRESS, "progress")   /* seconds that are left of a transfer when the computation is over; alone: all of it */ \
    X(BURST, "burst")         /* seconds of so many bytes of a stream between nodes, after a rest or behind as many */ \
    X(BACKLOG, "backlog")     /* seconds of a small round trip between nodes, or of the stream that it waits behind */ \
    X(FINE, "fine")           /* seconds of so many bytes as count messages */                                         \
    X(GPU_COPY, "gpu_copy")   /* seconds of a copy between a GPU and its host, within it, or to another GPU */         \
    X(GPU_PATHS, "gpu_paths") /* seconds from one GPU to another, by n processes at each end, count messages each */   \
    X(CACHED, "cached")       /* seconds of a message whose buffers are in caches */

/* The one of memory contention, whose samples memory_samples.h has. */
#define MEMORY_BENCHMARK "memory_contention"

/* What a benchmark distinguishes, and its name in the column variant. */
#define VARIANTS(X)                                                                                                    \
    X(NONE, "")                                                                                                        \
    X(POSTED_INORDER, "posted_inorder") /* queue */                                                                    \
    X(POSTED_REVERSED, "posted_reversed")                                                                              \
    X(UNEXPECTED_INORDER, "unexpected_inorder")                                                                        \
    X(UNEXPECTED_REVERSED, "unexpected_reversed")                                                                      \
    X(ALONE, "alone") /* contention, progress, backlog */                                                              \
    X(SHARED, "shared")                                                                                                \
    X(TAKEN, "taken") /* buffer, eager */                                                                              \
    X(REFUSED, "refused")                                                                                              \
    X(SEND, "send") /* overhead */                                                                                     \
    X(RECEIVE, "receive")                                                                                              \
    X(SENDER, "sender") /* progress: who computes */                                                                   \
    X(RECEIVER, "receiver")                                                                                            \
    X(BOTH, "both")                                                                                                    \
    X(RESTED, "rested") /* burst */                                                                                    \
    X(STREAM, "stream") /* burst, backlog */                                                                           \
    X(OTHER, "other")   /* backlog: who streams meanwhile */                                                           \
    X(OWN, "own")                                                                                                      \
    X(P2P, "p2p") /* fine: by what the messages go */                                                                  \
    X(THREADS, "threads")                                                                                              \
    X(RMA, "rma")                                                                                                      \
    X(PARTITIONED, "partitioned")                                                                                      \
    X(EARLY, "early")                                                                                                  \
    X(TO_PINNED, "to_pinned") /* gpu_copy */                                                                           \
    X(TO_PINNED_EVENTS, "to_pinned_events")                                                                            \
    X(TO_PAGEABLE, "to_pageable")                                                                                      \
    X(TO_PAGEABLE_EVENTS, "to_pageable_events")                                                                        \
    X(FROM_PINNED, "from_pinned")                                                                                      \
    X(FROM_PINNED_EVENTS, "from_pinned_events")                                                                        \
    X(FROM_PAGEABLE, "from_pageable")                                                                                  \
    X(FROM_PAGEABLE_EVENTS, "from_pageable_events")                                                                    \
    X(DEVICE, "device")                                                                                                \
    X(DEVICE_EVENTS, "device_events")                                                                                  \
    X(PEER, "peer")                                                                                                    \
    X(PEER_EVENTS, "peer_events")                                                                                      \
    X(HOST, "host") /* gpu_paths */                                                                                    \
    X(GPUDIRECT, "gpudirect")                                                                                          \
    X(3_STEP, "3-step")                                                                                                \
    X(3_STEP_EVENTS, "3-step_events")                                                                                  \
    X(EXTRA_MESSAGE, "extra-message")                                                                                  \
    X(EXTRA_MESSAGE_EVENTS, "extra-message_events")                                                                    \
    X(DUPLICATE_POINTER, "duplicate-pointer")                                                                          \
    X(DUPLICATE_POINTER_EVENTS, "duplicate-pointer_events")                                                            \
    X(PULL, "pull") /* bytes are those of one of n processes that copy from the GPU at once */                         \
    X(PULL_EVENTS, "pull_events")                                                                                      \
    X(PUSH, "push") /* to the GPU */                                                                                   \
    X(PUSH_EVENTS, "push_events")                                                                                      \
    X(ONE_WAY, "one_way") /* cached */                                                                                 \
    X(BOTH_WAYS, "both_ways")

#define ENUMERATOR(name, text) BENCHMARK_##name,
enum benchmark { BENCHMARKS(ENUMERATOR) BENCHMARK_COUNT };
#undef ENUMERATOR
#define ENUMERATOR(name, text) VARIANT_##name,
enum variant { VARIANTS(ENUMERATOR) VARIANT_COUNT };
#undef ENUMERATOR
extern const char *const benchmark_name[BENCHMARK_COUNT], *const variant_name[VARIANT_COUNT];

struct sample {
    double seconds; /* time of a message, or as the benchmark says */
    uint64_t bytes;
    uint64_t n;     /* processes that share the bandwidth, or as the benchmark says */
    uint32_t count; /* messages of a process in one repetition */
    uint32_t launch;
    uint8_t level;     /* enum level */
    uint8_t benchmark; /* enum benchmark */
    uint8_t variant;   /* enum variant */
    uint8_t domain;    /* enum domain (machine.h) */
    bool disturbed;    /* as probing.h says */
    double waited;     /* share of the processor time that its ranks wanted and others had; NaN: not known */
};

/* Counts how much of a benchmark was disturbed: samples as they were read, and points, which are what is measured
 * again. */
struct disturbance {
    size_t n_samples;
    size_t n_disturbed;
    size_t n_points;
    size_t n_never_quiet; /* points that were only measured while others had the processors of their ranks */
};

struct samples {
    struct sample *samples; /* [n_samples] by level, n, benchmark, variant, bytes, count, domain, seconds once sorted */
    size_t n_samples;
    double told_bytes[LEVEL_COUNT];    /* smallest rendezvous size as reported by the MPI, 0: none */
    double domain_pairs[DOMAIN_COUNT]; /* pairs of ranks on one socket, by what they share; 0: not told */
    struct probings probings;          /* probes of the machine, as measured; none in files of earlier versions */
    struct disturbance disturbance[BENCHMARK_COUNT]; /* disturbance of each benchmark but the searches (eager, buffer)
                                                      */
};

void samples_append(struct samples *samples, const struct sample *sample);
void samples_sort(struct samples *samples);
void samples_release(struct samples *samples);

/* Samples that follow each other once sorted. */
struct sample_set {
    size_t first;
    size_t n;
};

/* Goes on to the next set of a benchmark at a level; begin with {0}. Returns false where there is none. */
bool samples_next(const struct samples *samples, enum benchmark benchmark, enum level level, struct sample_set *set);

enum samples_statistic { STATISTIC_MEDIAN = 0, STATISTIC_MIN };

/* Median or minimum of the seconds of a set. */
double set_seconds(const struct samples *samples, struct sample_set set, enum samples_statistic statistic);

/* One time a size of one (level, n, benchmark), by ascending size. */
struct curve {
    enum level level;
    enum benchmark benchmark;
    uint64_t n;
    size_t n_points;
    double *bytes;     /* [n_points] */
    double *seconds;   /* [n_points] */
    size_t *n_samples; /* [n_points] */
    size_t *first;     /* [n_points] the point's first sample in samples; they follow each other */
};

struct curves {
    struct curve *curves; /* by level, n, benchmark */
    size_t n_curves;
};

/* Makes the curves of sorted samples, for curves_release. */
struct curves curves_make(const struct samples *samples, enum samples_statistic statistic);
void curves_release(struct curves *curves);
/* Returns the one time of a size. values[n_values], n_values >= 1, lose their order. */
double samples_reduce(double *values, size_t n_values, enum samples_statistic statistic);

/* Returns the time of a message on a socket whose pairs differ by what they share, so that every pair of ranks of the
 * job counts alike, however often those of each domain were measured. It is the median of seconds[DOMAIN_COUNT], 0
 * where a domain was not measured, weighted by n_pairs (1 where it is 0). Returns 0 where none was measured. */
double samples_combine(const double seconds[DOMAIN_COUNT], const double n_pairs[DOMAIN_COUNT]);

/* Finds the points of a curve from the first size >= begin_bytes to the last < end_bytes: [*first, *end). */
void curve_range(const struct curve *curve, double begin_bytes, double end_bytes, size_t *first, size_t *end);

/* Which samples were taken while others had the machine (probing.h), left out where others do as well. */

/* Share of points without any quiet sample from which on a calibration is too disturbed (drift.h). */
#define DISTURBED_MAX 0.1

/* Returns whether MPISTAIR_DISTURBED=1 asks to keep disturbed samples: for tests of other things, and for
 * demonstrations on a busy computer. */
bool disturbed_are_taken(void);

/* Sums up what all benchmarks have. */
struct disturbance disturbed_sum(const struct samples *samples);

/* Reads the raw samples of a calibration from a file (mpistair(5)). */

/* Reads a file. Returns 0, or -1 with file:line and what was expected in error, and samples untouched. The result is
 * sorted. */
int samples_read_csv(const char *path, struct samples *samples, struct error *error);

#endif
