/* Waiting for partners that are late, within rounds: as the views late and rank_late, in one pass over the messages. */
#ifndef MPISTAIR_SUMS_ROUND_LATE_H
#define MPISTAIR_SUMS_ROUND_LATE_H

#include "interpose/sums/round_sums.h"

enum late_cause { LATE_SENDER, LATE_RECEIVER, LATE_COUNT };

/* Notes that a rank waited so long in a round for a partner; of no effect where the rank is not of the round, nor
 * outside its time there. 0, or -1 without memory. */
int round_late_add(struct round_sums *sums, const struct round_span *round, int64_t rank, enum late_cause cause,
                   int64_t begin_ns, int64_t length_ns);
/* Fills temp.rank_late from what was noted, which is put in order for it. 0, or -1 with the reason. */
int round_late_store(sqlite3 *database, const char *path, struct round_sums *sums, struct error *error);

#endif
