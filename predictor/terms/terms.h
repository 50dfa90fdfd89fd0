/* Declares the additive terms (`staircase+queue`), each defined in the file named after it. */
#ifndef MPISTAIR_PREDICTOR_TERMS_H
#define MPISTAIR_PREDICTOR_TERMS_H

#include "predictor/models/model.h"

extern const struct model_term queue_term;
extern const struct model_term contention_term;
extern const struct model_term memory_term;

#endif
