/* Holds what a report says of messages between GPUs: what each way of their data would take in a kind of rounds
 * (share/doc/MODELS.md, GPU paths). Values that are not known are as in report.h. */
#ifndef MPISTAIR_REPORT_GPU_H
#define MPISTAIR_REPORT_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/gpu/gpu_paths.h"

/* Describes the messages of a kind of rounds between GPUs at a level. A rank that sends from a GPU's memory counts as a
 * GPU. */
struct report_gpu_kind {
    int64_t kind, rounds;
    enum level level;                     /* intra_socket, inter_socket, inter_node */
    uint32_t gpus;                        /* of the node of the slowest rank that send at once */
    uint32_t ppn;                         /* processes of that node that can share their work */
    double messages;                      /* of the rank that takes longest by the MPI alone, in a round */
    double bytes;                         /* of these messages */
    double path_s[GPU_PATH_COUNT];        /* of a round, whose slowest rank counts; NaN: the table lacks rows */
    const char *reason[GPU_PATH_COUNT];   /* which; NULL where path_s is known */
    const char *function, *file, *caller; /* of the call site with most of the bytes; "" where it is not known */
    int64_t line;
};

enum { REPORT_GPU_KINDS = 6 };

/* Holds the kinds that another path would help most, then those that take longest. */
struct report_gpu {
    const char *machine; /* whose table was taken; "": none is stored in the trace */
    const char *unknown; /* why nothing is known; NULL: it is */
    struct report_gpu_kind rows[REPORT_GPU_KINDS];
    size_t n, all;
    int64_t messages; /* between GPUs, in rounds */
    int64_t one_side; /* messages of which one side alone is on a GPU */
};

/* Returns the fastest path of a kind; GPU_PATH_COUNT where none is known. */
enum gpu_path report_gpu_fastest(const struct report_gpu_kind *kind);

#endif
