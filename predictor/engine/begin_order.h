/* Orders the messages of a pattern as they begin. */
#ifndef MPISTAIR_PREDICTOR_BEGIN_ORDER_H
#define MPISTAIR_PREDICTOR_BEGIN_ORDER_H

#include "predictor/pattern/traffic.h"

/* Sets *order, [n_messages], which the caller frees; messages with equal begins stay as in the pattern. It is NULL
 * without times, as then all is as in the pattern. Takes 4 bytes a message; where the begins crowd at some time, up to
 * 24 more meanwhile. Returns 0, or -1 without memory. */
int begin_order(const struct traffic *traffic, uint32_t **order);

#endif
