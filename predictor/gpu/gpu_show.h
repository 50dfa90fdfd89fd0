/* Prints what the paths between GPUs are predicted to take, and from which size on another one is faster. */
#ifndef MPISTAIR_PREDICTOR_GPU_SHOW_H
#define MPISTAIR_PREDICTOR_GPU_SHOW_H

#include <stdio.h>

#include "predictor/gpu/gpu_paths.h"

struct gpu_answer {
    const char *machine; /* its name */
    const struct gpu_problem *problem;
    struct gpu_costs costs;
    bool asked[GPU_PATH_COUNT];
};

/* Prints a table of the paths, which is the fastest, and every crossover as a sentence. Returns 0, or -1 with the
 * reason, as the others. */
int gpu_show_text(FILE *stream, const struct gpu_answer *answer);
/* Prints path,time_s, a row a path, then crossover,BELOW,ABOVE,BYTES: ABOVE is faster from BYTES on. A path that is not
 * available has no time. With one process a GPU extra-message and duplicate-pointer are 3-step, and have no rows of
 * crossovers. */
int gpu_show_csv(FILE *stream, const struct gpu_answer *answer);
/* Prints an object: paths (time_s, or reason), crossovers, copy_pays_from_messages, and from how many processes and
 * GPUs the injection limit binds. */
int gpu_show_json(FILE *stream, const struct gpu_answer *answer, struct error *error);

#endif
