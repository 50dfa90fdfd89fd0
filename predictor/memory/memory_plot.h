/* Draws memory contention over the number of computing cores: a chart a placement. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_PLOT_H
#define MPISTAIR_PREDICTOR_MEMORY_PLOT_H

#include "predictor/memory/memory_choice.h"

/* Draws the placements of the choice and, where samples is not NULL, the medians of what was measured there, to an HTML
 * file as charts_write does. Returns 0, or -1 with the reason. */
int memory_plot(const struct machine *machine, const struct memory_model *model, const struct memory_choice *choice,
                const struct memory_samples *samples, const char *path, struct error *error);

#endif
