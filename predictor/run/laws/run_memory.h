/* Lets messages lose what threads that compute on their receiver's socket take of the memory's bandwidth
 * (share/doc/MODELS.md, Whole run, Memory). run_share.h is what others use. */
#ifndef MPISTAIR_PREDICTOR_RUN_MEMORY_H
#define MPISTAIR_PREDICTOR_RUN_MEMORY_H

#include <stddef.h>

#include "predictor/models/memory_contention.h"

/* Holds what happens on a socket at one time. */
struct run_memory_socket {
    uint32_t n_computing; /* threads */
    uint32_t n_moving;    /* messages that contend with them */
    double since_s;       /* since when it has been so */
    double keeps;         /* what these keep of their bandwidth */
    uint32_t *bundles;    /* that ever contended */
    size_t n_bundles;
};

struct run_memory {
    struct memory_share share;
    struct run_memory_socket *sockets;
    size_t n_sockets;
    double computed_s; /* what all threads computed while messages that contend moved to their socket */
    double slowed_s;   /* the same times the factor by which it takes longer */
};

/* Prepares for that many sockets, and as many threads a socket as n_wanted. Returns 0, or -1 with the reason;
 * run_memory_release in either case. */
int run_memory_init(struct run_memory *memory, const struct machine *machine, size_t n_sockets, size_t n_wanted,
                    struct error *error);
void run_memory_release(struct run_memory *memory);

/* Notes a new bundle whose messages contend on a socket. Returns what they keep. */
double run_memory_note(struct run_memory *memory, uint32_t socket, uint32_t bundle);
/* Counts a message that contends in (1) or out (-1). */
void run_memory_move(struct run_memory *memory, uint32_t socket, double now_s, int change);
/* Counts threads that begin (change > 0) or end to compute. Returns true if that changes what messages keep. */
bool run_memory_compute(struct run_memory *memory, uint32_t socket, double now_s, int change);

#endif
