/* Says how far the recording of this process is: what its two beginnings (MPI_Init, MPI_Session_init) and its two ends
 * know of each other. */
#ifndef MPISTAIR_BACKEND_STAGE_H
#define MPISTAIR_BACKEND_STAGE_H

#include "interpose/backend/recorder/state.h"

struct recording_stage {
    int in_world;        /* MPI_Init was recorded, and MPI_Finalize is still to come */
    int is_closed;       /* the spool is closed for good */
    int n_open_sessions; /* those of the application */
};

/* May be used with the lock held only. */
extern struct recording_stage recording_stage;

/* Exclude each other at both ends of the recorder: several threads may call MPI_Session_init. */
void stage_lock(void);
void stage_unlock(void);

/* Begins the recorder's own session, with which it begins alone. Returns 0, or -1. */
#ifdef MPI_SESSION_NULL /* this MPI has sessions */
int stage_begin_session(MPI_Info info, MPI_Session *session);
#endif
/* Ends that session, if there is one; its group must be given back before. */
void stage_end_session(void);

#endif
