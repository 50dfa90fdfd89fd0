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

enum benchmark {
    BENCHMARK_PINGPONG = 0,
    BENCHMARK_ALGORITHM1,
    BENCHMARK_SELF,       /* between a rank and itself */
    BENCHMARK_INJECTION,  /* all of a node to other nodes, one way */
    BENCHMARK_QUEUE,      /* n messages in order or reversed; seconds of all of them */
    BENCHMARK_CONTENTION, /* n pairs of processes across one link, alone or together */
    BENCHMARK_BUFFER,     /* bytes that the transport takes, or not, while the receiver is paused */
    BENCHMARK_EAGER,      /* bytes that crossed blocking sends return with, or not, without a receive */
    BENCHMARK_OVERHEAD,   /* seconds of one MPI_Isend or MPI_Irecv */
    BENCHMARK_PROGRESS,   /* seconds that are left of a transfer when the computation is over; alone: all of it */
    BENCHMARK_BURST,      /* seconds of so many bytes of a stream between nodes, after a rest or behind as many */
    BENCHMARK_BACKLOG,    /* seconds of a small round trip between nodes, or of the stream that it waits behind */
    BENCHMARK_FINE,       /* seconds of so many bytes as count messages */
    BENCHMARK_GPU_COPY,   /* seconds of a copy between a GPU and its host, within it, or to another GPU */
    BENCHMARK_GPU_PATHS,  /* seconds of so many bytes from one GPU to another, by n processes at each end, each of which
                           * sends count messages */
    BENCHMARK_CACHED,     /* seconds of a message whose buffers are in caches */
    BENCHMARK_COUNT,
};

/* What a benchmark tells apart; the column variant. */
enum variant {
    VARIANT_NONE = 0,
    VARIANT_POSTED_INORDER, /* queue */
    VARIANT_POSTED_REVERSED,
    VARIANT_UNEXPECTED_INORDER,
    VARIANT_UNEXPECTED_REVERSED,
    VARIANT_ALONE, /* contention, progress, backlog */
    VARIANT_SHARED,
    VARIANT_TAKEN, /* buffer, eager */
    VARIANT_REFUSED,
    VARIANT_SEND, /* overhead */
    VARIANT_RECEIVE,
    VARIANT_SENDER, /* progress: who computes */
    VARIANT_RECEIVER,
    VARIANT_BOTH,
    VARIANT_RESTED, /* burst */
    VARIANT_STREAM, /* burst, backlog */
    VARIANT_OTHER,  /* backlog: who streams meanwhile */
    VARIANT_OWN,
    VARIANT_P2P, /* fine: by what the messages go */
    VARIANT_THREADS,
    VARIANT_RMA,
    VARIANT_PARTITIONED,
    VARIANT_EARLY,
    VARIANT_TO_PINNED, /* gpu_copy */
    VARIANT_TO_PINNED_EVENTS,
    VARIANT_TO_PAGEABLE,
    VARIANT_TO_PAGEABLE_EVENTS,
    VARIANT_FROM_PINNED,
    VARIANT_FROM_PINNED_EVENTS,
    VARIANT_FROM_PAGEABLE,
    VARIANT_FROM_PAGEABLE_EVENTS,
    VARIANT_DEVICE,
    VARIANT_DEVICE_EVENTS,
    VARIANT_PEER,
    VARIANT_PEER_EVENTS,
    VARIANT_HOST, /* gpu_paths */
    VARIANT_GPUDIRECT,
    VARIANT_3_STEP,
    VARIANT_3_STEP_EVENTS,
    VARIANT_EXTRA_MESSAGE,
    VARIANT_EXTRA_MESSAGE_EVENTS,
    VARIANT_DUPLICATE_POINTER,
    VARIANT_DUPLICATE_POINTER_EVENTS,
    VARIANT_PULL, /* bytes are those of one of n processes that copy from the GPU at once */
    VARIANT_PULL_EVENTS,
    VARIANT_PUSH, /* to the GPU */
    VARIANT_PUSH_EVENTS,
    VARIANT_ONE_WAY, /* cached */
    VARIANT_BOTH_WAYS,
    VARIANT_COUNT,
};
extern const char *const benchmark_name[BENCHMARK_COUNT]; /* pingpong, algorithm1, self, ... */
extern const char *const variant_name[VARIANT_COUNT];     /* "", posted_inorder, ... */

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
    double told_bytes[LEVEL_COUNT];    /* smallest rendezvous size as told by the MPI, 0: it tells none */
    double domain_pairs[DOMAIN_COUNT]; /* pairs of ranks on one socket, by what they share; 0: not told */
    struct probings probings;          /* probes of the machine, as measured; none in files of earlier versions */
    struct disturbance disturbance[BENCHMARK_COUNT]; /* disturbance of each benchmark but the searches (eager, buffer)
                                                      */
};

void samples_append(struct samples *samples, const struct sample *sample);
void samples_sort(struct samples *samples);
/* Compares as their order does, but for the seconds: 0 where both measure the same. */
int samples_compare_points(const struct sample *a, const struct sample *b);
void samples_release(struct samples *samples);

/* Samples that follow each other once sorted. */
struct sample_set {
    size_t first;
    size_t n;
};

/* The samples from first on that measure the same; n is 0 behind the last one. */
struct sample_set samples_set(const struct samples *samples, size_t first);

enum samples_statistic { STATISTIC_MEDIAN = 0, STATISTIC_MIN };

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

#endif
