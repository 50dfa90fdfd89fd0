/* The raw samples of memory contention: bandwidths of computing cores and of a message that is received, alone and
 * together, by the number of cores and by where their data are.
 *
 * RAW.csv has the columns benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa (mpistair(5)).
 * Comments before the rows describe the machine:
 *
 *   # memory cores N           of the socket that computes
 *   # memory numa_nodes N      of a socket
 *   # memory numa_all N        of the node
 *   # memory method nic        who writes a message into the memory: the network card, or
 *   # memory method cpu-copy   a processor, as with shared memory */
#ifndef MPISTAIR_CALIBRATE_MEMORY_SAMPLES_H
#define MPISTAIR_CALIBRATE_MEMORY_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "share/base/level.h"

enum memory_variant {
    MEMORY_COMPUTATION_ALONE = 0,
    MEMORY_MESSAGE_ALONE,
    MEMORY_COMPUTATION, /* together with MEMORY_MESSAGE */
    MEMORY_MESSAGE,
    MEMORY_VARIANT_COUNT,
};
extern const char *const memory_variant_name[MEMORY_VARIANT_COUNT]; /* computation_alone, message_alone, ... */

/* Most cores and NUMA nodes that a file may give. */
enum { MEMORY_SAMPLES_MOST = 4096 };
/* The NUMA node of data that a variant does not have. */
#define MEMORY_NO_DATA UINT32_MAX

/* What was measured. NUMA nodes are 0 .. numa_nodes - 1 on the socket that computes, then those of the others. */
struct memory_place {
    enum memory_variant variant;
    uint32_t computing_numa; /* MEMORY_NO_DATA for message_alone */
    uint32_t message_numa;   /* MEMORY_NO_DATA for computation_alone */
    uint32_t n;              /* computing cores; 0 for message_alone */
};

struct memory_sample {
    struct memory_place place;
    uint32_t launch;
    double bytes_per_s; /* of all n cores, or of the message */
};

struct memory_point {
    struct memory_place place;
    double bytes_per_s; /* median of its samples */
    double low, high;   /* 95 % interval of the median; NaN: fewer than 6 samples bound none */
    size_t first;       /* its first sample; they follow each other */
    size_t n_samples;
};

struct memory_samples {
    struct memory_sample *samples; /* [n_samples] by place (variant, computing_numa, message_numa, n), then bandwidth */
    size_t n_samples;
    struct memory_point *points; /* [n_points] by place */
    size_t n_points;
    uint32_t cores;      /* of the socket that computes */
    uint32_t numa_nodes; /* of a socket */
    uint32_t numa_all;   /* of the node */
    bool cpu_copy;
    enum level level; /* of the messages */
};

/* Reads a file. Returns 0, or -1 with file:line and what was expected in error, and samples untouched. */
int memory_samples_read_csv(const char *path, struct memory_samples *samples, struct error *error);
/* Returns whether the first row of a file is a sample of memory contention; false as well where it cannot be read. */
bool memory_samples_are_in(const char *path);
/* Returns the point of a place, NULL where it was not measured. */
const struct memory_point *memory_samples_find(const struct memory_samples *samples, const struct memory_place *place);
void memory_samples_release(struct memory_samples *samples);

#endif
