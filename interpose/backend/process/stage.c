/* The recorder has a session of its own, since the application's first may end before its last, and the group of
 * mpi://WORLD must not end before the recorder. A lock is held, as all threads may create sessions. */
#include "interpose/backend/process/stage.h"

#include <pthread.h>

struct recording_stage recording_stage;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void stage_lock(void)
{
    pthread_mutex_lock(&lock);
}

void stage_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

#ifdef MPI_SESSION_NULL

static MPI_Session own = MPI_SESSION_NULL;

int stage_begin_session(MPI_Info info, MPI_Session *session)
{
    if (PMPI(Session_init)(info, MPI_ERRORS_RETURN, &own) != MPI_SUCCESS) {
        own = MPI_SESSION_NULL;
        return -1;
    }
    *session = own;
    return 0;
}

void stage_end_session(void)
{
    if (own != MPI_SESSION_NULL)
        PMPI(Session_finalize)(&own);
    own = MPI_SESSION_NULL;
}

#else

void stage_end_session(void)
{
}

#endif
