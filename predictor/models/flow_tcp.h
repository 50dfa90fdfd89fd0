/* The model flow-tcp with the constants of another TCP, apart from the model, so that tests can set them. */
#ifndef MPISTAIR_PREDICTOR_FLOW_TCP_H
#define MPISTAIR_PREDICTOR_FLOW_TCP_H

#include "model.h"
#include "tcp_window.h"

/* As model.predict. */
int flow_tcp_predict(const struct tcp_constants *constants, const struct pattern *pattern,
                     const struct placement *placement, const struct machine *machine,
                     const struct model_options *options, struct prediction *prediction, struct error *error);

#endif
