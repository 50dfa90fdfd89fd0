/* How much of the ranks' time in rounds passes while another round is under way where they are. The models take rounds
 * one by one, so what rounds take from each other is in no model. */
#ifndef MPISTAIR_SUMS_CONCURRENT_ROUNDS_H
#define MPISTAIR_SUMS_CONCURRENT_ROUNDS_H

#include <sqlite3.h>

#include "share/base/error.h"

/* No error of a model is claimed above this share of the ranks' time. */
#define CONCURRENT_LIMIT 0.1

/* Finds the share of the time of all ranks in rounds that passes while another round is under way on the rank's socket;
 * NaN without rounds. For a round of several nodes, another round of several nodes on its node counts too, as they
 * share the NIC. A round is under way on a socket from its first rank's post there to the last completion; rounds of
 * one rank alone do not count. Returns 0, or -1 with the reason. */
int concurrent_rounds_share(sqlite3 *database, const char *path, double *share, struct error *error);

#endif
