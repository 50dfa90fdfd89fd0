/* Tells how many threads of a socket compute, that is, are outside MPI, while a message may move: what `+memory` asks
 * of a recorded round. */
#ifndef MPISTAIR_PREDICTOR_REPLAY_COMPUTING_H
#define MPISTAIR_PREDICTOR_REPLAY_COMPUTING_H

#include <sqlite3.h>

#include "calibrate/machine/machine.h"
#include "predictor/pattern/group.h"
#include "predictor/replay/replay_place.h"

/* Holds when the threads of a socket compute: from time_ns[i] on, n[i] of them. */
struct computing_socket {
    int64_t *time_ns;
    double *integral_s; /* what they computed before, all together */
    int32_t *n;
    size_t n_steps, room;
};

/* Holds when at least one thread of a rank is inside MPI. */
struct computing_rank {
    int64_t *begin_ns, *end_ns;
    size_t n_stays, room;
};

struct replay_computing {
    bool known; /* the trace has calls */
    struct grouping sockets;
    struct computing_socket *of_socket; /* [sockets.n_groups] */
    struct computing_rank *of_rank;     /* [n_ranks] */
    size_t n_ranks;
    /* Tell which messages move only while a rank is inside MPI, by the machine: bits 1 sender, 2 receiver. */
    struct machine_protocols protocols[LEVEL_COUNT];
    unsigned progress[LEVEL_COUNT][PROTOCOL_COUNT];
};

/* Reads all calls of the trace once, and the rows `progress` of the machine. Returns 0, or -1 with the
 * reason; replay_computing_release in either case. */
int replay_computing_init(struct replay_computing *computing, sqlite3 *database, const char *path,
                          const struct recorded_places *places, const struct machine *machine, struct error *error);
void replay_computing_release(struct replay_computing *computing);

/* Describes a message by its ranks in the world and the time in which it may move; it moves only while the ranks that
 * it needs are inside MPI. */
struct computing_message {
    uint32_t src, dst;
    int64_t from_ns, to_ns;
    bool needs_sender, needs_receiver;
};
/* Says which ranks a message of that level and size needs, by the machine. */
void replay_computing_needs(const struct replay_computing *computing, enum level level, uint64_t bytes,
                            struct computing_message *message);
/* Returns how many threads of the receiver's socket compute while the message moves, in the mean over that time; 0 if
 * it never does. */
double replay_computing_of(const struct replay_computing *computing, const struct computing_message *message);

#endif
