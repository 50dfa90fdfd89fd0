/* Fills the buffers of GPUs with values that follow from repeat, source, destination and index, and looks at what
 * arrived. */
#ifndef MPISTAIR_TESTS_GPU_CONTENT_H
#define MPISTAIR_TESTS_GPU_CONTENT_H

#include "tests/apps/gpu_ways.h"

/* Fill what is sent, and spoil what the last repeat received; each process of a GPU does its k-th. */
void gpu_content_fill(struct gpu_job *job, int repeat);
/* Changes a value that the last GPU received; the check has to find it. */
void gpu_content_spoil(struct gpu_job *job);
/* Fails the job where a value of the GPU differs, with what and where; each process of a GPU looks at its k-th. */
void gpu_content_check(struct gpu_job *job, int repeat);

#endif
