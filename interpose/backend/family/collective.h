/* Families collective and icollective are timed calls.
 *
 * The generated wrapper lists the arguments by what they are for. Which of them say how many bytes this rank hands in
 * differs by collective: collective_bytes() alone knows it. */
#ifndef MPISTAIR_BACKEND_COLLECTIVE_H
#define MPISTAIR_BACKEND_COLLECTIVE_H

#include "interpose/backend/call/timed_call.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"

/* One side's arguments: one count and datatype, or arrays of them (int, or MPI_Count in the _c functions). */
struct collective_side {
    const void *buffer;
    int64_t count;
    MPI_Datatype datatype;
    const int *counts;
    const MPI_Count *wide_counts;
    const MPI_Datatype *datatypes;
};

struct collective_arguments {
    enum mpistair_function like; /* the blocking form of the call, without _c */
    struct collective_side send; /* the only buffer of a call that has one: Bcast; for reductions the count */
    struct collective_side receive;
    int root; /* -1: the call has none */
    MPI_Comm comm;
};

struct collective_call {
    struct recorded_call call;
    struct spool_collective *record; /* NULL: lost, not recorded, or summed */
    int summed;                      /* added to the totals, with communicator and bytes, when it ends */
    uint32_t communicator;
    uint64_t bytes;
};

/* Reserves the call's record; root and bytes remain to be filled in before it is published. While
 * recording is off it prepares instead that collective_end adds the call to the totals. */
void collective_reserve(struct collective_call *collective, uint32_t communicator);

/* Returns the bytes that this rank, of this number in the communicator, hands in; for Bcast and Scatter what it gets
 * unless it is the root. */
uint64_t collective_bytes(const struct collective_arguments *arguments, int rank);

void collective_begin(struct collective_call *collective, const struct collective_arguments *arguments);
void collective_end(struct collective_call *collective, int result);

/* Nonblocking collectives end when a call reports their request. */
void icollective_begin(struct collective_call *collective, const struct collective_arguments *arguments);
void icollective_end(struct collective_call *collective, int result, const MPI_Request *request);

#endif
