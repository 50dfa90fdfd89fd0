/* Is `mpistair predict --memory` and `machine memory`. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_RUN_H
#define MPISTAIR_PREDICTOR_MEMORY_RUN_H

#include "predictor/memory/memory_choice.h"
#include "share/base/output_file.h"

/* Say how a placement is told in text: by the sides, or by its NUMA nodes, too. */
enum memory_words { MEMORY_SIDES, MEMORY_NUMA_NODES };

struct memory_question {
    const struct memory_options *options;
    const char *cores_option; /* what the command calls the number of cores */
    enum memory_words words;
    enum output_format format;
    const char *output; /* NULL: standard output */
};

/* Predicts and prints what is asked. Returns 0, or -1 with the reason. */
int memory_answer(const struct memory_question *question, const struct machine *machine, struct error *error);
/* Does so for `mpistair predict --memory`. */
int memory_run(const struct memory_options *options, const char *machine_name, enum output_format format,
               const char *output, struct error *error);

#endif
