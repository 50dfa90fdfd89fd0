/* Describes messages that do not start together: when each moves, and what that makes of a rank's time. The models that
 * know post times share it.
 *
 * A message k moves from a_k on: the later of its two posts (rendezvous, or a table with one protocol for all), or its
 * send's post (short, eager). The model says when it is delivered, and where its transport buffers, when the send is
 * over. Without buffers a send is over when it is delivered (rendezvous) or at once (short, eager).
 *
 * From there a rank's time follows. Its round lasts from its first own post p_i to the last of its completions and
 * posts, e_i:
 *
 *   T_i = e_i - p_i + c_i,   c_i: what could not be hidden
 *
 * Along the clock c_i adds up each message's tau at a_k, and, as in T18, the time in which the rank's messages between
 * nodes and those within its node move both. A pause, in which none of the rank's messages moves, takes as much of c_i
 * away as it lasts (A. Thune et al., IEEE TPDS 34(5), 2023, equation 18: T). Without pauses and with a_k = 0 it is T8,
 * T15 and T18. The parts are: latency, all tau; bandwidth and contention, the time in which messages move, of both
 * kinds; skew, what is left of the pauses: waiting for a partner that is late, or between posts of its own. */
#ifndef MPISTAIR_PREDICTOR_MOVES_H
#define MPISTAIR_PREDICTOR_MOVES_H

#include "predictor/model.h"
#include "predictor/pattern/traffic.h"

struct moves {
    const struct traffic *traffic; /* borrowed */
    /* [n_messages][n_times] on the clock of the posts, at first a_k. The first is when a message is delivered; the
     * second, if there is one, when its send is over. A message's times lie side by side, since both are needed at once
     * and messages come in any order. */
    double *times_s;
    size_t n_times;
};

static inline double *moves_delivered_s(const struct moves *moves, size_t message)
{
    return &moves->times_s[message * moves->n_times];
}

/* Returns when the send is over, where there are two times. */
static inline double *moves_sent_s(const struct moves *moves, size_t message)
{
    return moves_delivered_s(moves, message) + 1;
}

/* Sets all times to a_k. buffers asks for two times. Takes 8 or 16 bytes a message. Returns 0, or -1 without memory. */
int moves_init(struct moves *moves, const struct traffic *traffic, bool buffers);
void moves_release(struct moves *moves);

/* Returns a_k, in s. */
double moves_begin_s(const struct traffic *traffic, size_t message);
/* Says whether a send of it is over at once: short or eager. */
bool moves_at_once(const struct traffic *traffic, size_t message);

/* Adds T_i of every rank to the parts of a prediction. Takes 4 bytes a message where there are times; O(M log M).
 * Returns 0, or -1 without memory. */
int moves_add(const struct moves *moves, enum latency_side side, struct prediction *prediction);

#endif
