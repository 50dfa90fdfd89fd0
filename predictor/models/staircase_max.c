/* staircase-max is the staircase whose two parts overlap wholly: the larger of them counts.
 *
 * A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023 (T), equation 18 adds the part between nodes and
 * the part within them, as if one began when the other has ended. Here
 *
 *   T_i = max(T_i^inter-node, T_i^intra-node)        each T8 or T15, with its own latency
 *
 * which is what remains if nothing of one slows down the other: a lower bound of T18's sum, and at least half of it.
 * What is measured should lie between the two. Symbols and domain: staircase.c. */
#include "predictor/models/model.h"
#include "predictor/models/staircase.h"

/* Takes for each rank the part with the larger time; both come with their sums. */
static void take_larger(const struct prediction *other, struct prediction *prediction)
{
    for (size_t rank = 0; rank < prediction->n_ranks; rank++)
        for (size_t part = 0; part < PART_COUNT && other->time_s[rank] > prediction->time_s[rank]; part++)
            prediction->part_s[part][rank] = other->part_s[part][rank];
    prediction->extrapolated += other->extrapolated;
}

static int staircase_max_predict(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    struct prediction within;
    struct prediction *const parts[STAIRCASE_PARTS] = {prediction, &within};
    int result = 0;
    prediction_init(&within, prediction->n_ranks);
    for (size_t i = 0; result == 0 && i < STAIRCASE_PARTS; i++) {
        staircase_add(input, i, SERVICE_EVEN, parts[i]);
        result = prediction_sum(parts[i], error);
    }
    if (result == 0)
        take_larger(&within, prediction);
    prediction_release(&within);
    return result;
}

const struct model staircase_max_model = {.name = "staircase-max",
                                          .summary = "staircase, the larger of its parts between nodes and within one",
                                          .latency_side = true,
                                          .by_receiver = true,
                                          .predict = staircase_max_predict};
