/* Additive terms: what a model leaves out, added to its result (`staircase+queue`). */
#ifndef MPISTAIR_PREDICTOR_TERMS_H
#define MPISTAIR_PREDICTOR_TERMS_H

#include "model.h"

/* B3, to queue_s: 0, or -1: the machine has no such value, no memory. */
int queue_add(const struct pattern *pattern, const struct machine *machine, struct prediction *prediction,
              struct error *error);

#endif
