/* A program's own count of what it sent: the witness that a recording is held against, to the message.
 *
 * The program calls traffic_sent() beside every call that sends to a rank (not for MPI_PROC_NULL). traffic_write()
 * gathers the counts by collectives alone, so that writing them adds no message. The file is CSV: header
 * `src,dst,messages,bytes`, ranks of MPI_COMM_WORLD, a row for each pair with a message, by src, then dst.
 */
#ifndef MPISTAIR_TESTS_TRAFFIC_H
#define MPISTAIR_TESTS_TRAFFIC_H

#include <stdint.h>

struct traffic {
    int n_ranks;
    uint64_t *messages; /* [n_ranks] sent by this rank to each rank */
    uint64_t *bytes;    /* [n_ranks] */
};

/* Is called after MPI_Init; witness_release() frees. */
void witness_init(struct traffic *traffic);
void traffic_sent(struct traffic *traffic, int dst, uint64_t bytes);
/* Gathers the counts, collective over MPI_COMM_WORLD; rank 0 writes the file. With path NULL nothing is done. Fails the
 * job where it cannot. */
void traffic_write(const struct traffic *traffic, const char *path);
void witness_release(struct traffic *traffic);

#endif
