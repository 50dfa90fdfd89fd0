/* The messages of a pattern in the order in which they begin. */
#ifndef MPISTAIR_PREDICTOR_BEGIN_ORDER_H
#define MPISTAIR_PREDICTOR_BEGIN_ORDER_H

#include "predictor/pattern/traffic.h"

/* *order: [n_messages], freed by the caller, equal begins as in the pattern; NULL where all is as in the pattern since
 * there are no times. 4 bytes a message; where the begins crowd at some time, up to 24 more meanwhile. 0, or -1 without
 * memory. */
int begin_order(const struct traffic *traffic, uint32_t **order);

#endif
