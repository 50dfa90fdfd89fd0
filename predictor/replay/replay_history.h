/* Finds what the connections of a recorded run had carried before a kind of round, and how long they rested. It serves
 * models whose buffers keep what has not drained from one round to the next, whatever kind that is. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_HISTORY_H
#define MPISTAIR_PREDICTOR_REPLAY_HISTORY_H

#include "predictor/replay/replay_round.h"

struct history_use;

struct history_kind {
    sqlite3_int64 id;
    size_t first, end; /* its uses */
    double before, between, bytes;
    size_t n_rounds;
};

struct replay_history {
    struct history_kind *kinds; /* [n_kinds] by id */
    size_t n_kinds;
    struct history_use *uses; /* one for each message of each kind's first round */
    size_t n_uses;
};

/* Reads all rounds, in the order of time. With places only messages between nodes count; NULL means all, as their ranks
 * may be moved. Takes one pass over round and round_process, and the first round of each kind; 48 bytes a message of
 * those. Does nothing where there is one round, or one node. n_ranks counts the world. Returns 0, or -1 with the
 * reason; replay_history_release in either case. */
int replay_history_read(sqlite3 *database, const char *path, size_t n_ranks, const struct recorded_places *places,
                        struct replay_history *history, struct error *error);
/* Tells the pattern of the round read last, which is of that kind. */
void replay_history_tell(const struct replay_history *history, sqlite3_int64 kind_id, struct replay_round *round);
void replay_history_release(struct replay_history *history);

#endif
