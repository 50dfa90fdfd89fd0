/* Lets messages between nodes share both NICs on their way, each of which may have a token bucket. What one NIC gives
 * is the law's (run_path.nic_rate). */
#ifndef MPISTAIR_PREDICTOR_RUN_NICS_H
#define MPISTAIR_PREDICTOR_RUN_NICS_H

#include "predictor/run/laws/run_law.h"

/* Are a path's functions: messages of a class between two nodes are a bundle. */
void run_nics_find(const struct run_share *share, const struct run_mover *mover, struct run_way *way);
void run_nics_set(struct run_share *share, const struct run_mover *mover, int change);

bool run_nics_have_buckets(const struct run_share *share);
/* Takes note that a bundle's speed has changed, where it passes NICs. */
void run_nics_keep(struct run_share *share, struct run_bundle *bundle);
/* Sets the rates that change as the bucket of a NIC, which is no longer among share.emptied, is empty. The clock of
 * what passes NICs is up to date. */
void run_nics_emptied(struct run_share *share, size_t number);
/* Returns how long so many bytes of so many ranks take to pass a NIC. */
double run_nics_pass_s(const struct run_share *share, const struct run_nic *nic, double now_s, double bytes,
                       size_t n_ranks);

#endif
