/* Gives times to programs without a clock: each rank computes as long as is written, messages take no time, and who
 * receives waits for the sender. What a run took inside MPI is not known then; computation is. */
#ifndef MPISTAIR_IMPORT_CAUSAL_H
#define MPISTAIR_IMPORT_CAUSAL_H

#include "interpose/import/import.h"

enum causal_kind { CAUSAL_COMPUTE, CAUSAL_SEND, CAUSAL_RECEIVE, CAUSAL_WAIT, CAUSAL_COLLECTIVE };

struct causal_step {
    enum causal_kind kind;
    uint16_t function; /* SEND, RECEIVE: blocking ones wait by themselves */
    bool blocking;
    int32_t peer, tag;         /* COLLECTIVE: peer is the root, -1: none */
    uint32_t requests;         /* WAIT: how many at `first` of the rank's waits */
    uint32_t request;          /* SEND, RECEIVE: its number in the rank; WAIT: first of its waits */
    uint64_t amount;           /* bytes; COMPUTE: ns */
    uint64_t line;             /* of the file */
    uint64_t begin_ns, end_ns; /* set by causal_write */
};

struct causal_rank {
    struct causal_step *steps; /* [n_steps] */
    size_t n_steps;
    uint32_t *waits; /* [n_waits] requests that WAIT steps name */
    size_t n_waits;
    uint32_t n_requests;
};

struct causal {
    const char *path;
    struct causal_rank *ranks; /* [n_ranks] */
    int32_t n_ranks;
};

void causal_open(struct causal *causal, const char *path, int32_t n_ranks);
void causal_release(struct causal *causal);

/* Add a step to a rank. A post returns the number of its request. */
void causal_compute(struct causal *causal, int32_t rank, uint64_t ns, uint64_t line);
uint32_t causal_post(struct causal *causal, int32_t rank, struct causal_step step);
void causal_wait(struct causal *causal, int32_t rank, const uint32_t *requests, uint32_t n, uint64_t line);
void causal_collective(struct causal *causal, int32_t rank, uint16_t function, uint64_t bytes, int32_t root,
                       uint64_t line);

/* Goes through all programs and writes the spools. Returns 0, or -1 with the reason: a rank waits for ever. */
int causal_write(struct causal *causal, const struct import_run *run, struct error *error);

#endif
