/* Holds the model of memory contention against samples: mean absolute percentage errors, as D Table 2 has them, beside
 * those of a reader who knows of no contention. Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_MAPE_H
#define MPISTAIR_PREDICTOR_MEMORY_MAPE_H

#include <stdio.h>

#include "predictor/memory/memory_choice.h"

enum memory_data { MEMORY_DATA_MESSAGE = 0, MEMORY_DATA_COMPUTATION, MEMORY_DATA_COUNT };
/* Divides placements into the two from which a table is made (both data in NUMA node 0, both in the first one of the
 * other socket) and the others. */
enum memory_part { MEMORY_ON_SAMPLES = 0, MEMORY_OFF_SAMPLES, MEMORY_ON_ALL, MEMORY_PART_COUNT };

/* Holds means of |measured - modelled| / measured, as shares; NaN without points. */
struct memory_mape {
    double model;
    double no_contention; /* each has what the model gives it alone */
    size_t n_points;      /* medians of a number of cores and a placement */
};

struct memory_mapes {
    struct memory_mape of[MEMORY_DATA_COUNT][MEMORY_PART_COUNT];
    struct memory_mape average; /* of both data on all placements */
};

/* Compares with the medians of what was measured together, at the placements and cores of the choice. */
void memory_mapes_compute(const struct memory_model *model, const struct memory_samples *samples,
                          const struct memory_choice *choice, struct memory_mapes *mapes);

/* Print them; name is that of the machine. The columns of CSV and JSON are
 * machine,of,placements,mape,mape_no_contention,points, with shares, not per cent. Return 0, or -1 with the reason. */
int memory_mapes_show_text(FILE *stream, const struct memory_mapes *mapes, const char *name);
int memory_mapes_show_rows(FILE *stream, const struct memory_mapes *mapes, const char *name, bool csv,
                           struct error *error); /* else JSON */

#endif
