/* Chooses the processes and GPUs at both ends of the ways between two GPUs, and takes memory on these GPUs. */
#ifndef MPISTAIR_CALIBRATE_GPU_ENDS_H
#define MPISTAIR_CALIBRATE_GPU_ENDS_H

#include <stdbool.h>

#include "calibrate/gpu/gpu_memory.h"
#include "calibrate/measure/measure.h"

enum { GPU_MEMBERS_MAX = 8 };

/* Holds one end: processes of a socket, the first of which has memory on a GPU. */
struct gpu_end {
    int members[GPU_MEMBERS_MAX]; /* ranks */
    int own;                      /* this rank's place among them; -1: it is none of them */
    char bus_id[GPU_BUS_ID_BYTES];
    int socket;     /* of the GPU; -1: not known */
    struct gpu gpu; /* as this rank has it */
    char *host;     /* [buffer_bytes] of this rank, pinned where it has the GPU */
    bool owns_host;
};

/* Holds both ends of a level. All ranks agree on it, but for what an end says of this rank. */
struct gpu_ends {
    enum level level;
    int n_members; /* of each end: 1, 2, 4 or 8; 0: the job does not span the level */
    struct gpu_end side[2];
    bool is_mock;
    bool has_gpus;   /* both first members have memory on a GPU */
    bool has_shared; /* it can be shared, and the other members copy from and to it themselves */
};

/* Chooses the ranks, by their places alone, so that all ranks choose the same. */
void gpu_ends_choose(const struct measure *measure, enum level level, struct gpu_ends *ends);
/* Takes a GPU for each end: one of its own socket, and not that of the other end, as far as there are such. What is
 * refused is told in a note `not_available WHAT REASON` by the rank that meets it. Collective over measure->comm. */
void gpu_ends_take(struct measure *measure, struct gpu_ends *ends);
/* Gives all back; collective. */
void gpu_ends_release(struct measure *measure, struct gpu_ends *ends);

/* Returns this rank's end; NULL where it is at none. */
struct gpu_end *gpu_ends_own(struct gpu_ends *ends);
/* Returns why messages of the level between two GPUs cannot be measured, NULL where they can. */
const char *gpu_ends_no_direct(const struct measure *measure, const struct gpu_ends *ends);

#endif
