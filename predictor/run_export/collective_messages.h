/* The messages that stand for a collective where a format has none, or not this one. Members are known by their number
 * in it. In a round a member sends at most one message and receives at most one, then goes on to
 * the next round once both are complete:
 *
 *   DEPENDS_ON_ALL    dissemination: in round k from i to i + 2^k (modulo n)
 *   DEPENDS_ON_ROOT   binomial tree from the root
 *   DEPENDS_OF_ROOT   the same tree, backwards
 *   DEPENDS_ON_LOWER  in round k from i to i + 2^k, if there is one
 *   DEPENDS_ON_NOBODY none
 *
 * Two members exchange at most one message in each direction. */
#ifndef MPISTAIR_PREDICTOR_COLLECTIVE_MESSAGES_H
#define MPISTAIR_PREDICTOR_COLLECTIVE_MESSAGES_H

#include "predictor/run/run_program.h"

#define EXCHANGE_NOBODY UINT32_MAX

struct exchange_round {
    uint32_t to, from; /* members (in program->members), or EXCHANGE_NOBODY */
    uint64_t sent_bytes, received_bytes;
};

unsigned exchange_rounds(const struct run_collective *collective);
struct exchange_round exchange_round(const struct run_program *program, uint32_t member, unsigned round);
/* Returns whether nobody knows the collective's bytes, so that its recorded time (after_s) follows its messages. */
bool exchange_as_recorded(const struct run_collective *collective);

#endif
