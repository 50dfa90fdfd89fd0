/* Moves data from one end to the other on each of the ways between two GPUs (share/doc/MODELS.md, GPU paths). */
#ifndef MPISTAIR_CALIBRATE_GPU_TRANSFER_H
#define MPISTAIR_CALIBRATE_GPU_TRANSFER_H

#include "calibrate/benchmark/gpu/gpu_ends.h"
#include "calibrate/gpu/gpu_path.h"

/* Go on behind the paths of gpu_path.h: messages between the memory of hosts, and what all members copy at once. */
enum { GPU_HOST = GPU_PATH_COUNT, GPU_PULL, GPU_PUSH, GPU_TRANSFER_COUNT };

enum { GPU_MESSAGES_MAX = 10 };

/* Describes a transfer as one of the members of its end sees it. */
struct gpu_transfer {
    MPI_Comm comm;
    struct gpu_end *end;
    int path;      /* enum gpu_path, or one of those above */
    int n_members; /* how many of the end share the data: the first ones */
    int partner;   /* who has the same part at the other end */
    size_t place;  /* of the data in the memory of host and GPU */
    size_t bytes;  /* of all members together */
    int count;     /* messages into which the part of a member goes, GPU_MESSAGES_MAX at most */
    bool by_events;
    double copies_s; /* how long the copies of this process took, added up */
};

/* Sends from this end, or receives at it. The first member of the end has the data on its GPU before, or afterwards; of
 * GPU_HOST all have their part on the host. A refused copy ends the job. */
void gpu_transfer_send(struct gpu_transfer *transfer);
void gpu_transfer_receive(struct gpu_transfer *transfer);
/* Copies the part of this member from the GPU, or to it. */
void gpu_transfer_copy(struct gpu_transfer *transfer);

/* Sends values through a way once and looks at what arrives; a wrong one ends the job with exit code 1. transfer is
 * that of this rank; NULL where it is no member. Collective over comm. */
void gpu_transfer_check(struct gpu_transfer *transfer, bool sends, MPI_Comm comm);

#endif
