/* Names of the ways of data between two GPUs (Bienz 2021), for what is measured and what is predicted. */
#ifndef MPISTAIR_CALIBRATE_GPU_PATH_H
#define MPISTAIR_CALIBRATE_GPU_PATH_H

#include <stdbool.h>

enum gpu_path {
    GPU_DIRECT,            /* the MPI takes the GPU's memory */
    GPU_3_STEP,            /* copy to the host, message, copy to the GPU */
    GPU_EXTRA_MESSAGE,     /* one process copies and hands parts to others of its node, which send them */
    GPU_DUPLICATE_POINTER, /* every process copies a part from the GPU itself and sends it */
    GPU_PATH_COUNT
};
extern const char *const gpu_path_name[GPU_PATH_COUNT];
/* Turns a name into its path. Returns 0, or -1 if there is none. */
int gpu_path_parse(const char *name, enum gpu_path *found);

/* Names of what is measured besides paths: copies alone, and messages between hosts. */
#define GPU_COPY_NAME "copy"
#define GPU_HOST_NAME "host"

enum { GPU_WORD_BYTES = 24 };

/* Returns whether the list has the word; NULL has all. */
bool gpu_word_listed(const char *list, const char *word);

#endif
