/* Prints what memory contention is predicted to be: a row a number of cores and a placement. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_SHOW_H
#define MPISTAIR_PREDICTOR_MEMORY_SHOW_H

#include <stdio.h>

#include "predictor/memory/memory_choice.h"

/* Say how a placement is told in text: by the sides, or by its NUMA nodes, too. */
enum memory_words { MEMORY_SIDES, MEMORY_NUMA_NODES };

/* Prints text, in MB/s; name is that of the machine. Returns 0, or -1 with the reason, as the others. */
int memory_show_text(FILE *stream, const struct memory_model *model, const char *name,
                     const struct memory_choice *choice, enum memory_words words);
/* Print the same in B/s, with all digits. The columns are computing_cores,computation_numa,message_numa,
 * computation_bytes_per_s,computation_alone_bytes_per_s,message_bytes_per_s,message_alone_bytes_per_s. */
int memory_show_csv(FILE *stream, const struct memory_model *model, const struct memory_choice *choice);
int memory_show_json(FILE *stream, const struct memory_model *model, const struct memory_choice *choice,
                     struct error *error);

#endif
