/* Runs `mpistair predict --finegrain`. */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_RUN_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_RUN_H

#include "predictor/finegrain/finegrain_options.h"
#include "share/base/output_file.h"

/* Predicts with that machine and prints what the options ask for, to output (NULL: stdout). Returns the exit code,
 * after the reason was printed. */
int finegrain_run(const struct finegrain_options *options, const char *machine_name, uint64_t seed,
                  enum output_format format, const char *output);

#endif
