/* The recorder's own session (stage.c) is finalised before the application's last one, so that MPI ends where it does
 * without us. See session.h.
 */
#include "interpose/backend/process/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/backend/table/members.h"
#include "interpose/backend/process/lifecycle.h"
#include "interpose/backend/process/own_cost.h"
#include "interpose/backend/process/process_spool.h"
#include "interpose/backend/run/node_topology.h"
#include "interpose/backend/run/run.h"
#include "interpose/backend/process/stage.h"
#include "interpose/backend/run/start_ingest.h"
#include "interpose/backend/run/say_line.h"

#ifdef MPI_SESSION_NULL

static int is_told; /* the user knows why nothing is recorded */

/* Returns the thread level that a session says it has; 0 where it does not. */
static int thread_level_of(MPI_Session session)
{
    static const char *const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                        "MPI_THREAD_MULTIPLE"};
    char value[64] = "";
    int has_value = 0, level = 0, room = sizeof value;
    MPI_Info info;
    if (PMPI(Session_get_info)(session, &info) != MPI_SUCCESS)
        return 0;
    if (PMPI(Info_get_string)(info, "thread_level", &room, value, &has_value) == MPI_SUCCESS && has_value)
        for (int i = 0; i < 4; i++)
            if (strcmp(value, names[i]) == 0)
                level = i;
    PMPI(Info_free)(&info);
    return level;
}

/* Opens our own session and the group of all processes, whose ranks are the run's. Returns 0 or -1. */
static int open_own(MPI_Info info, MPI_Session *own, MPI_Group *world)
{
    struct run *run = &recorder_run;
    if (stage_begin_session(info, own) != 0)
        return -1;
    if (PMPI(Group_from_session_pset)(*own, "mpi://WORLD", world) == MPI_SUCCESS) {
        if (PMPI(Group_rank)(*world, &run->rank) == MPI_SUCCESS && run->rank >= 0 &&
            PMPI(Group_size)(*world, &run->size) == MPI_SUCCESS)
            return 0;
        PMPI(Group_free)(world);
    }
    stage_end_session();
    return -1;
}

static void tell(const char *reason)
{
    if (!is_told && recorder_run.rank == 0)
        fprintf(stderr, "mpistair: not recorded from MPI_Session_init on: %s\n", reason);
    is_told = 1;
}

/* Begins alone. The caller holds the lock. What fails is tried again at the next session, or at MPI_Init. */
static void begin_alone(enum mpistair_function function, MPI_Info info)
{
    struct run *run = &recorder_run;
    MPI_Session own;
    MPI_Group world;
    if (open_own(info, &own, &world) != 0) {
        tell("this MPI does not tell the processes of mpi://WORLD");
        return;
    }
    if (run_name_alone(run) != 0) {
        PMPI(Group_free)(&world);
        stage_end_session();
        tell("the launcher gives its processes no common name; start the job by mpistair run");
        return;
    }
    int thread_level = thread_level_of(own);
    /* A later session, or MPI_Init_thread, may allow more threads, so the tables are made for the highest level. */
    int error = process_spool_open(run, 3, world);
    if (error != 0) {
        PMPI(Group_free)(&world);
        stage_end_session();
        say_line("rank %d is not recorded from MPI_Session_init on: it cannot write %s: %s", run->rank, run->folder,
                 strerror(error));
        return;
    }
    recorder.begun = 1;
    run->alone = 1;
    if (run->rank == 0)
        process_spool_set_marker(run);
    topology_write(run);
    process_spool_describe(run, thread_level, function);
    recorder.spool.header->link_init.parent_rank = -1;
    recorder.spool.header->link_finalize.parent_rank = -1;
    process_spool_count();
    __atomic_store_n(&recorder.recording, 1, __ATOMIC_RELEASE);
    recorder.spool.header->own_cost_ps = own_cost_ps();
}

void session_init_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    (void)site;
    call->function = function;
}

void session_init_end(struct recorded_call *call, int result, MPI_Info info)
{
    int saved_errno = errno;
    if (result != MPI_SUCCESS || recorder.pid != getpid())
        return;
    stage_lock();
    recording_stage.n_open_sessions++;
    if (!recorder.begun)
        begin_alone(call->function, info);
    else if (recording_stage.is_closed)
        (*recorder.host->calls)[call->function]++; /* what follows is not recorded */
    stage_unlock();
    errno = saved_errno;
}

void session_finalize_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    int saved_errno = errno;
    (void)call, (void)function, (void)site;
    if (recorder.pid != getpid())
        return;
    stage_lock();
    if (recording_stage.n_open_sessions > 0 && --recording_stage.n_open_sessions == 0 && recorder_run.alone &&
        !recording_stage.in_world)
        lifecycle_end_alone();
    stage_unlock();
    errno = saved_errno;
}

void session_finalize_end(struct recorded_call *call, int result)
{
    (void)call, (void)result;
}

#endif
