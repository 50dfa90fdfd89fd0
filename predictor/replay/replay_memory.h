/* Stores what +memory says beside the time of a rank: the table prediction_memory. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_MEMORY_H
#define MPISTAIR_PREDICTOR_REPLAY_MEMORY_H

#include "predictor/replay/replay_with.h"

struct replay_memory {
    const struct replay *replay;
    sqlite3_stmt *insert;
};

/* Makes the table in a trace that was written before it came, and forgets what it has of the same machine, models and
 * options. Returns 0, or -1 with the reason; replay_memory_release in either case. */
int replay_memory_init(struct replay_memory *memory, const struct replay *replay, struct error *error);
/* Stores a prediction of a kind by a model with +memory; world_rank[prediction->n_ranks]. Returns as init does. */
int replay_memory_store(struct replay_memory *memory, size_t model, sqlite3_int64 kind_id,
                        const struct prediction *prediction, const uint32_t *world_rank, struct error *error);
void replay_memory_release(struct replay_memory *memory);

#endif
