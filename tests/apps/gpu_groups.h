/* Assigns the processes of a node to GPUs, as H VI does: k processes that follow each other in the node have a GPU
 * together, and the processes of the same number in their groups have a communicator. */
#ifndef MPISTAIR_TESTS_GPU_GROUPS_H
#define MPISTAIR_TESTS_GPU_GROUPS_H

#include <mpi.h>

struct gpu_groups {
    int per_gpu; /* processes of a GPU, k */
    int n_gpus;
    int gpu;        /* of this process */
    int member;     /* its number in the GPU's group; 0 copies for all of it */
    MPI_Comm all;   /* every process, that of rank gpu * per_gpu + member */
    MPI_Comm group; /* the processes of the GPU, by member */
    MPI_Comm peers; /* the processes of the same member, by GPU: H's communicator of a GPU rank */
};

/* Makes the groups, collective over MPI_COMM_WORLD. Returns 0, or the processes of a node which per_gpu >= 1 does not
 * divide, the same on all ranks, with nothing made. gpu_groups_release() frees. */
int gpu_groups_open(int per_gpu, struct gpu_groups *groups);
void gpu_groups_release(struct gpu_groups *groups);

#endif
