/* Families probe and iprobe are timed calls. Families mprobe, improbe, mrecv, imrecv: a matched probe is a receive that
 * takes its place in the order of matching where it returns, long before MPI_Mrecv says where the message goes.
 *
 * So the operation is stored when MPI_Mprobe returns, and waits in a table by its MPI_Message until MPI_Mrecv or
 * MPI_Imrecv completes it; these are timed calls of their own. A message is taken out before the receiving call, for
 * its handle may be given to another thread's probe at once. */
#ifndef MPISTAIR_BACKEND_PROBE_H
#define MPISTAIR_BACKEND_PROBE_H

#include "interpose/backend/call/timed_call.h"
#include "interpose/backend/family/operation.h"

/* flag is NULL, here and below, where the call waits for a message. */
void probe_end_timed(struct recorded_call *call, int result, const int *flag);
static inline void probe_end(struct recorded_call *call, int result, const int *flag)
{
    if (flag && call->begin_ticks == 0 && result == MPI_SUCCESS && !*flag)
        untimed_call_idle(call);
    else
        probe_end_timed(call, result, flag);
}

struct matched_probe {
    struct recorded_call call;
    int source, tag;
    MPI_Comm comm;
    struct watched_status watched;
};

void mprobe_begin(struct matched_probe *probe, int source, int tag, MPI_Comm comm, MPI_Status **status);
void mprobe_end(struct matched_probe *probe, int result, const MPI_Message *message, const int *flag);

struct matched_receive {
    struct recorded_call call;
    MPI_Message message;               /* before the call */
    struct spool_operation *operation; /* the one that the probe stored; NULL: not known */
};

void mrecv_begin(struct matched_receive *receive, const void *buffer, int64_t count, MPI_Datatype datatype,
                 const MPI_Message *message);
/* request is NULL where the call itself receives. */
void mrecv_end(struct matched_receive *receive, int result, const MPI_Message *message, const MPI_Request *request);

#endif
