/* Declares the models, each defined in the file named after it. */
#ifndef MPISTAIR_PREDICTOR_MODELS_H
#define MPISTAIR_PREDICTOR_MODELS_H

#include "predictor/models/model.h"

extern const struct model postal_model;
extern const struct model max_rate_model;
extern const struct model staircase_model;
extern const struct model staircase_max_model;
extern const struct model serial_model;
extern const struct model node_aware_model;
extern const struct model flow_model;
extern const struct model flow_window_model;

#endif
