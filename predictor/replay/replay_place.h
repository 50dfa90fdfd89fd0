/* Holds the recorded places of the ranks, as far as they are known. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_PLACE_H
#define MPISTAIR_PREDICTOR_REPLAY_PLACE_H

#include <sqlite3.h>

#include "predictor/pattern/pattern.h"

struct recorded_places {
    struct placement placement; /* places of all ranks of the world */
    bool *node_known;           /* [placement.n_ranks] */
    bool *socket_known;         /* socket 0 where not */
};

/* Reads them. Returns 0, or -1 with the reason. */
int recorded_places_read(sqlite3 *database, const char *path, struct recorded_places *places, struct error *error);
/* Takes them from a placement given by hand, which must have the ranks of the run. */
int recorded_places_given(sqlite3 *database, const char *path, const struct placement *given,
                          struct recorded_places *places, struct error *error);
void recorded_places_release(struct recorded_places *places);

#endif
