/* Is `mpistair predict --memory`. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_RUN_H
#define MPISTAIR_PREDICTOR_MEMORY_RUN_H

#include "predictor/memory/memory_choice.h"
#include "share/base/output_file.h"

/* Predicts and prints what is asked. Returns 0, or -1 with the reason. */
int memory_run(const struct memory_options *options, const char *machine_name, enum output_format format,
               const char *output, struct error *error);

#endif
