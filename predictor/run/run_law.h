/* Says which messages a law serves alike, and sets their rates as messages come and go. Only run_share.c uses it. */
#ifndef MPISTAIR_PREDICTOR_RUN_LAW_H
#define MPISTAIR_PREDICTOR_RUN_LAW_H

#include "predictor/run/run_share.h"

/* Says where a message moves: its bundle's key, and what the bundle is part of. */
struct run_way {
    struct map_key key;
    uint32_t group;
    uint32_t src_node, dst_node;
    bool passes_nics; /* shares both of them */
};
struct run_way run_law_way(const struct run_share *share, const struct run_mover *mover);

/* Sets all rates that change as the message came (1) or went (-1), and the places of the bundles; their group's clock
 * and the message's bundle are up to date. */
void run_law_set(struct run_share *share, const struct run_mover *mover, int change);

/* From run_share.c. */
void run_group_advance(struct run_group *group, double now_s);
void run_bundle_catch_up(const struct run_group *group, struct run_bundle *bundle);
/* Returns the reading of the group's clock at the bundle's next mark, INFINITY without one. */
double run_bundle_key(const struct run_bundle *bundle);
void run_bundle_place(struct run_share *share, uint32_t number);

#endif
