/* Finds out how what rank 0 receives comes into its memory (transport_judge.h). */
#ifndef MPISTAIR_CALIBRATE_MEMORY_TRANSPORT_H
#define MPISTAIR_CALIBRATE_MEMORY_TRANSPORT_H

#include <mpi.h>

#include "calibrate/benchmark/memory/transport_judge.h"

/* Receives for about half a second into buffer, of STREAM_BYTES, and judges. For rank 0; rank 1 serves. */
void transport_find(MPI_Comm comm, void *buffer, struct transport *transport);

#endif
