/* Sums the waiting for late partners within rounds, as the views late and rank_late do, in one pass over the messages.
 */
#ifndef MPISTAIR_SUMS_ROUND_LATE_H
#define MPISTAIR_SUMS_ROUND_LATE_H

#include "interpose/sums/round_sums.h"

enum late_cause { LATE_SENDER, LATE_RECEIVER, LATE_COUNT };

/* Notes that a rank waited so long in a round for a partner. It has no effect where the rank is not of the round, nor
 * outside its time there. Returns 0, or -1 without memory. */
int round_late_add(struct round_sums *sums, const struct round_span *round, int64_t rank, enum late_cause cause,
                   int64_t begin_ns, int64_t length_ns);
/* Puts the noted waits in order and fills temp.rank_late from them. Returns 0, or -1 with the reason. */
int round_late_store(sqlite3 *database, const char *path, struct round_sums *sums, struct error *error);

#endif
