/* Moves the messages of the memory benchmark from rank 1 to rank 0. Rank 0 asks for each one; it asks for the next
 * before it receives one, so that the sender never waits. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_STREAM_H
#define MPISTAIR_CALIBRATE_MEMORY_STREAM_H

#include <mpi.h>
#include <stdint.h>

#include "calibrate/benchmark/memory/memory_steady.h"

enum { STREAM_RECEIVER = 0, STREAM_SENDER = 1 };
/* Is the size of a message of the paper, and the largest. */
enum { STREAM_BYTES = 64000000 };

/* Sends on rank 1 what is asked for, until the end is told. */
void stream_serve(MPI_Comm comm);
void stream_end(MPI_Comm comm);

/* Receives messages of bytes into buffer, one after the other, for seconds behind the first one, and at least that many
 * behind it. Appends their times. */
void stream_receive(MPI_Comm comm, void *buffer, int bytes, double seconds, size_t least,
                    struct memory_messages *messages);
/* Waits in MPI_Recv for a message that the sender sends only after so many seconds. */
void stream_wait(MPI_Comm comm, void *buffer, double seconds);

#endif
