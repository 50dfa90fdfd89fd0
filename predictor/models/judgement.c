/* Judges errors of models. See judgement.h. */
#include "predictor/models/judgement.h"

#include <math.h>

#define MOST_ERROR 0.5

const char *judgement_of(double error, int64_t messages)
{
    if (isnan(error))
        return "";
    if (messages < JUDGEMENT_LEAST_MESSAGES)
        return "too few messages";
    return error > MOST_ERROR ? "not explained" : "";
}
