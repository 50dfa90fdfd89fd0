/* Holds the ways that the data of GPUs takes through a collective (H VI), and what each needs prepared. */
#ifndef MPISTAIR_TESTS_GPU_WAYS_H
#define MPISTAIR_TESTS_GPU_WAYS_H

#include "tests/apps/gpu_groups.h"
#include "tests/apps/gpu_parts.h"

enum gpu_way { GPU_CUDA_AWARE, GPU_3_STEP, GPU_EXTRA_MESSAGE, GPU_DUPLICATE_POINTER };

struct gpu_job {
    const struct gpu_groups *groups;
    const struct gpu_data *data;
    enum gpu_way way;
    int n_holders;                  /* processes of a GPU that take part in the collective */
    struct device_memory device[2]; /* by enum gpu_side: the GPU's buffers */
    struct gpu_part part[2];        /* of this process */
    gpu_value *host[2];             /* what it holds of them */
    struct gpu_part *parts[2];      /* [n_holders], extra-message: of each process, on the one that copies */
    gpu_value *staged[2];           /* extra-message: the whole buffers, on the one that copies */
    MPI_Request *requests;
};

/* Returns how many of a GPU's processes take part in the collective. */
int gpu_way_holders(enum gpu_way way, int per_gpu);
/* Prepares all but the device's memory, without communication. gpu_job_release() frees. */
void gpu_job_init(struct gpu_job *job, enum gpu_way way, const struct gpu_groups *groups, const struct gpu_data *data);
void gpu_job_release(struct gpu_job *job);
/* Does the collective once: what is in the device's buffer GPU_SENDS of each GPU arrives in GPU_RECEIVES. */
void gpu_job_run(struct gpu_job *job);

#endif
