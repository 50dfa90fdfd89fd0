/* Computes what the data of a GPU cost on the ways to a GPU elsewhere: directly, or over the memory of one or several
 * processes (paper H; share/doc/MODELS.md, GPU paths). */
#ifndef MPISTAIR_PREDICTOR_GPU_PATHS_H
#define MPISTAIR_PREDICTOR_GPU_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrate/gpu/gpu_path.h"
#include "calibrate/machine/machine.h"

enum { GPU_MOST_BYTES_LOG2 = 40 }; /* more than any GPU holds */

/* Holds what each GPU of a node sends: bytes in all, in so many messages of one size. */
struct gpu_problem {
    enum level level;
    uint64_t bytes;      /* 1 to 2^40 */
    uint64_t messages;   /* from 1 on */
    double duplicate;    /* 0: no byte is in two messages; 1: every message holds the same data */
    bool whole_messages; /* the processes of a GPU send whole messages of it, each some; else a part of each */
    uint32_t gpus;       /* of a node that send at once */
    uint32_t ppn;        /* processes of a node: a multiple of gpus, as many for each of them */
};

/* What messages of a level cost a process. */
struct gpu_link {
    struct machine_protocols protocols;
    double tau_s[PROTOCOL_COUNT];
    double s_per_byte[PROTOCOL_COUNT];       /* while one process a GPU sends */
    double split_s_per_byte[PROTOCOL_COUNT]; /* while all send */
};

/* Holds the rows of a table that a problem's level and processes ask for; what does not depend on bytes, messages and
 * duplicates. */
struct gpu_costs {
    bool available[GPU_PATH_COUNT];
    struct error reason[GPU_PATH_COUNT];         /* why it is not */
    bool extrapolated;                           /* a bandwidth is beyond the table's n */
    double gpu_tau_s, gpu_s_per_byte;            /* of a GPU's message, while as many as the problem says send */
    double from_tau_s, to_tau_s;                 /* of copies */
    double from_s_per_byte[2], to_s_per_byte[2]; /* by one process; by all of a GPU, of what they copy together */
    struct gpu_link link;                        /* of the level */
    struct gpu_link near;                        /* on the own socket, while one process of all sends */
    uint32_t cpu_limited_from, gpu_limited_from; /* processes, GPUs of a node that exceed R_N; 0: there is no R_N */
};

/* Asks the table. What it lacks makes paths unavailable, with the reason. */
void gpu_costs_find(const struct machine *machine, const struct gpu_problem *problem, struct gpu_costs *costs);

/* Returns the time of all messages, in s; NaN where the path is not available. */
double gpu_path_s(const struct gpu_costs *costs, const struct gpu_problem *problem, enum gpu_path path);

/* Holds messages of one size. */
struct gpu_messages {
    double messages; /* of a mean round; need not be whole */
    uint64_t bytes;  /* of each, from 1 on */
};
/* Returns the time of messages of n sizes, in s, whose copies are made once for all; NaN where the path is not
 * available. Of the problem gpus and ppn are read: no byte is in two messages. */
double gpu_messages_s(const struct gpu_costs *costs, const struct gpu_problem *problem, const struct gpu_messages *of,
                      size_t n, enum gpu_path path);

/* Says that the path `above` is faster from so many bytes on, which is a whole number, and `below` up to there. */
struct gpu_crossover {
    enum gpu_path below, above;
    uint64_t bytes;
};
/* Finds every crossover of two paths from 1 B to 2^40 B, ascending, exactly: between the sizes at which a protocol
 * changes, times are straight lines. Writes the first `most` and returns how many there are. problem->bytes is not
 * read. */
size_t gpu_crossovers(const struct gpu_costs *costs, const struct gpu_problem *problem, enum gpu_path first,
                      enum gpu_path second, struct gpu_crossover *found, size_t most);

/* Returns from how many messages of 1 B on the 3-step path is faster than the direct one; 0 where it never is, up to
 * 2^20, or one of them is not available. */
uint64_t gpu_copy_pays_from(const struct gpu_costs *costs, const struct gpu_problem *problem);

#endif
