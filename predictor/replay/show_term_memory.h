/* Shows of models with +memory what they say beside the times of the ranks. */
#ifndef MPISTAIR_PREDICTOR_SHOW_TERM_MEMORY_H
#define MPISTAIR_PREDICTOR_SHOW_TERM_MEMORY_H

#include <sqlite3.h>
#include <stdio.h>

#include "predictor/options/predict_options.h"
#include "share/base/json.h"

/* Holds means over what arrives at the sockets of all ranks; NaN for models without the term, or where nothing
 * arrives. */
struct shown_memory {
    double computing;        /* threads of the socket that compute meanwhile */
    double compute_slowdown; /* how many times as long their computation takes */
};

/* Reads memory[options->n_models] of the trace. Returns 0, or -1 with the reason. */
int show_memory_read(sqlite3 *database, const struct predict_options *options, const char *machine,
                     struct shown_memory *memory, struct error *error);
/* Prints a line for each model that has such a value. */
void show_memory_text(FILE *stream, const struct predict_options *options, const struct shown_memory *memory);
/* Returns the titles of the columns, which are there if any model has the term, else "". */
const char *show_memory_csv_titles(const struct predict_options *options);
void show_memory_csv(FILE *stream, const struct predict_options *options, const struct shown_memory *memory);
/* Adds them to a row where they are known. */
void show_memory_json(struct json *row, const struct shown_memory *memory);

#endif
