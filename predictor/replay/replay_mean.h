/* Forms the mean of what terms that know post times, with their models, say of a kind's rounds.
 *
 * Rounds of a kind have the same messages, not the same posts, and what is predicted is held against the mean of the
 * measured times. The first round is often the coldest, so that no single one would do. If there are many rounds, some
 * are taken, as far apart as they can be: at most REPLAYED_ROUNDS, and no more than REPLAYED_MESSAGES messages, but at
 * least one round. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_MEAN_H
#define MPISTAIR_PREDICTOR_REPLAY_MEAN_H

#include <stdbool.h>

#include "predictor/models/model.h"

enum { REPLAYED_ROUNDS = 1000, REPLAYED_MESSAGES = 1000000 };

/* Returns how many of n rounds of that many messages are taken. */
size_t replay_mean_count(size_t n_rounds, size_t n_messages);
/* Says whether the place-th (0, 1, ...) of n rounds of that many messages is taken. */
bool replay_mean_takes(size_t place, size_t n_rounds, size_t n_messages);

struct replay_mean {
    double *sums; /* [world] the values of each rank; 0 where the current kind has no such rank. NULL: not in use */
    size_t n_rounds;
    size_t extrapolated;              /* the most of a round */
    struct prediction_memory counted; /* messages of a round, whose arrays are not used */
};

/* Makes room for n_world ranks. */
void replay_mean_init(struct replay_mean *mean, size_t n_world);
/* Adds a prediction; world_rank[prediction->n_ranks] names the ranks of a round. */
void replay_mean_add(struct replay_mean *mean, const struct prediction *prediction, const uint32_t *world_rank);
/* Puts the means of those ranks into the prediction, and empties their sums. */
void replay_mean_take(struct replay_mean *mean, struct prediction *prediction, const uint32_t *world_rank);
void replay_mean_release(struct replay_mean *mean);

#endif
