/* Is `mpistair predict --gpu`: paths between GPUs. */
#ifndef MPISTAIR_PREDICTOR_GPU_RUN_H
#define MPISTAIR_PREDICTOR_GPU_RUN_H

#include "predictor/finegrain/predict_finegrain.h"
#include "predictor/gpu/gpu_paths.h"
#include "share/base/options.h"
#include "share/base/output_file.h"

struct gpu_options {
    bool asked;
    bool own; /* one of the others was given */
    struct gpu_problem problem;
    bool path_asked[GPU_PATH_COUNT];
    bool paths_given;       /* the user named them: one that the table does not have is an error */
    const char *paths_text; /* as given, until it is checked */
};

/* Sets the defaults, and writes the table of the options into rows. */
enum { GPU_ROWS = 7 };
void gpu_option_rows(struct gpu_options *options, struct option_row rows[GPU_ROWS]);
/* Checks them once all are read; --level, --bytes and --ppn are read into shared. Returns 0, or the exit code after the
 * reason was printed. */
int gpu_options_check(struct gpu_options *options, struct finegrain_options *shared);

/* Predicts with that machine and prints what they ask for, to output (NULL: stdout). Returns the exit code, after the
 * reason was printed. */
int gpu_run(const struct gpu_options *options, const char *machine_name, enum output_format format, const char *output);

#endif
