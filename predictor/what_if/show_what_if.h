/* Shows what `mpistair predict --what-if` prints. */
#ifndef MPISTAIR_PREDICTOR_SHOW_WHAT_IF_H
#define MPISTAIR_PREDICTOR_SHOW_WHAT_IF_H

#include <stdio.h>

#include "predictor/what_if/what_if.h"

/* Shows T of the run before and after, and the ranks that gain and lose most, as text; csv and json have every rank.
 * Returns 0, or -1 with the reason. */
int show_what_if(FILE *stream, const struct predict_options *options, const struct what_if *what_if,
                 struct error *error);

#endif
