/* Says which messages a law serves alike, and sets their rates as messages come and go. run_share.h is what others
 * use. */
#ifndef MPISTAIR_PREDICTOR_RUN_LAW_H
#define MPISTAIR_PREDICTOR_RUN_LAW_H

#include "predictor/run/run_clock.h"

/* Names a message that moves; `end` and `bundle` are set by run_share_add. */
struct run_mover {
    uint32_t src, dst;
    uint32_t class;
    uint32_t bundle;
    double end; /* mark at which it is through */
};

/* Says where a message moves: its bundle's key, and what the bundle is part of. */
struct run_way {
    struct map_key key;
    uint32_t group;
    uint32_t src_node, dst_node;
    bool passes_nics; /* shares both of them */
    uint32_t socket;  /* as of a bundle */
};
struct run_way run_law_way(const struct run_share *share, const struct run_mover *mover);

/* Sets all rates that change as the message came (1) or went (-1), and the places of the bundles; their group's clock
 * and the message's bundle are up to date. */
void run_law_set(struct run_share *share, const struct run_mover *mover, int change);

/* Returns how long so many bytes of so many ranks take to pass a NIC. */
double run_law_pass_s(const struct run_share *share, const struct run_nic *nic, double now_s, double bytes,
                      size_t n_ranks);

/* Sets the rate of a bundle anew, as other computation contends with it, and its place. Its group's clock is up to
 * date. */
void run_law_keep(struct run_share *share, uint32_t number, double keeps);

/* Sets the rates that change as the bucket of a NIC, which is no longer among share.emptied, is empty. The clock of
 * what passes NICs is up to date. */
void run_law_emptied(struct run_share *share, size_t number);

#endif
