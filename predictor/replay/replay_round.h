/* Reads one recorded round as the pattern that the models take. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_ROUND_H
#define MPISTAIR_PREDICTOR_REPLAY_ROUND_H

#include <sqlite3.h>

#include "interpose/database/cursor.h"
#include "predictor/replay/replay_place.h"

enum { ROUND_MESSAGES, ROUND_RANKS, REPLAY_ROUND_STATEMENTS };

struct replay_round {
    struct pattern pattern;     /* of the round read last; its ranks are numbered anew */
    struct placement placement; /* places of these ranks; arrays of the world's size */
    uint32_t *world_rank;       /* [world] world rank of a new number */
    size_t moved;               /* messages recorded at another level than the places of their ranks give */
    /* The rest is private. */
    sqlite3 *database;
    const char *path;
    const struct recorded_places *places;
    uint32_t *number; /* [world] new number of a world rank, plus one; 0: not in this round */
    sqlite3_stmt *statements[REPLAY_ROUND_STATEMENTS];
};

/* Prepares. path names the database in messages; places are those of the world, borrowed like the others. Returns 0, or
 * -1 with the reason; replay_round_release in either case. */
int replay_round_init(struct replay_round *round, sqlite3 *database, const char *path,
                      const struct recorded_places *places, struct error *error);
/* Puts a round in the place of the one before. Returns 0, or -1 with the reason. */
int replay_round_read(struct replay_round *round, sqlite3_int64 round_id, struct error *error);
void replay_round_release(struct replay_round *round);

#endif
