/* A model's result: five arrays, one a part and one their sum. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int prediction_init(struct prediction *prediction, size_t n_ranks)
{
    double *values = calloc(5 * n_ranks + 1, sizeof *values); /* one block, which time_s owns */
    if (values == NULL)
        return -1;
    *prediction = (struct prediction){.n_ranks = n_ranks,
                                      .time_s = values,
                                      .latency_s = values + n_ranks,
                                      .bandwidth_s = values + 2 * n_ranks,
                                      .queue_s = values + 3 * n_ranks,
                                      .contention_s = values + 4 * n_ranks};
    return 0;
}

void prediction_clear(struct prediction *prediction)
{
    memset(prediction->time_s, 0, 5 * prediction->n_ranks * sizeof *prediction->time_s);
    prediction->extrapolated = 0;
}

int prediction_sum(struct prediction *prediction, struct error *error)
{
    for (size_t i = 0; i < prediction->n_ranks; i++) {
        prediction->time_s[i] = prediction->latency_s[i] + prediction->bandwidth_s[i] + prediction->queue_s[i] +
                                prediction->contention_s[i];
        if (!isfinite(prediction->time_s[i]))
            return error_set(error, "the modelled time of a rank is out of range: check the machine's tau and bw");
    }
    return 0;
}

void prediction_release(struct prediction *prediction)
{
    free(prediction->time_s);
    *prediction = (struct prediction){0};
}
