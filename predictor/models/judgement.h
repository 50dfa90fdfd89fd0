/* Says what the error of a model is worth, in the same words wherever it is shown. */
#ifndef MPISTAIR_PREDICTOR_JUDGEMENT_H
#define MPISTAIR_PREDICTOR_JUDGEMENT_H

#include <stdint.h>

/* Fewer messages between ranks are too few to judge a model by. */
enum { JUDGEMENT_LEAST_MESSAGES = 10 };

/* Returns "too few messages"; "not explained", where the model is off by more than half of the time; "" else, and where
 * the error is NaN. messages: of all rounds. */
const char *judgement_of(double error, int64_t messages);

#endif
