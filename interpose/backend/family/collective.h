/* Families collective and icollective: timed calls.
 *
 * The generated wrapper lists the arguments by what they are for; which of them say how many bytes this rank hands
 * in differs by collective, and is in collective_bytes.c alone.
 */
#ifndef MPISTAIR_BACKEND_COLLECTIVE_H
#define MPISTAIR_BACKEND_COLLECTIVE_H

#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/recorder/recorder.h"
#include "interpose/backend/recorder/sum.h"

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
    struct collective_side send; /* also of calls with one buffer: Bcast, and the count of reductions */
    struct collective_side receive;
    int root; /* -1: the call has none */
    MPI_Comm comm;
};

struct collective_call {
    struct recorded_call call;
    struct spool_collective *record; /* NULL: lost, not recorded, or summed */
    int summed;                      /* with key and bytes, at its end */
    struct sum_key key;
    uint64_t bytes;
};

/* After call_begin: reserves the call's record, of which root and bytes remain to be filled in before it is published;
 * or, while recording is off, sees to it that collective_end adds it to a sum. */
void collective_reserve(struct collective_call *collective, uint32_t communicator);

/* Bytes that this rank, of this number in the communicator, hands in; what it gets in Bcast and Scatter where it is
 * not the root. */
uint64_t collective_bytes(const struct collective_arguments *arguments, int rank);

void collective_begin(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                      const struct collective_arguments *arguments);
void collective_end(struct collective_call *collective, int result);

/* Nonblocking: the call that completes the request ends it. */
void icollective_begin(struct collective_call *collective, enum mpistair_function function, uint64_t site,
                       const struct collective_arguments *arguments);
void icollective_end(struct collective_call *collective, int result, const MPI_Request *request);

#endif
