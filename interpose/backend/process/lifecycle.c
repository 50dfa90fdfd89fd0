/* Begins and ends the recording: from MPI_Init to MPI_Finalize, MPI_Abort or exit. See lifecycle.h.
 *
 * What can fail does so before the first record, and alike in all processes where they must agree. A process whose
 * spool cannot be opened goes on unrecorded but takes part in what is collective. */
#include "interpose/backend/process/lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/backend/run/clock_link.h"
#include "interpose/backend/run/join.h"
#include "interpose/backend/table/communicator.h"
#include "interpose/backend/run/losses.h"
#include "interpose/backend/table/members.h"
#include "interpose/backend/process/own_cost.h"
#include "interpose/backend/process/process_spool.h"
#include "interpose/backend/run/reach.h"
#include "interpose/backend/run/roll.h"
#include "interpose/backend/run/node_topology.h"
#include "interpose/backend/run/run.h"
#include "interpose/backend/process/stage.h"
#include "interpose/backend/run/start_ingest.h"
#include "interpose/backend/run/world_comm.h"
#include "interpose/backend/run/say_line.h"

struct run recorder_run;
static struct run *const run = &recorder_run;
static int self_key = MPI_KEYVAL_INVALID;
static uint64_t run_bytes; /* bytes of all spools; known on rank 0 after the closing */
static int run_connected;  /* the run is connected to another MPI_COMM_WORLD, which may still run; known on rank 0 */

/* Runs in a forked child: the spool is the parent's. The preload library makes all calls pass through by itself. */
static void forked_child(void)
{
    __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    recorder.spool.header = NULL;
}

/* Notes an exit() without MPI_Finalize. */
static void exiting(void)
{
    if (recorder.spool.header && recorder.pid == getpid() && recorder.spool.header->end == SPOOL_END_NONE)
        process_spool_note_end(&recorder_run, SPOOL_END_EXIT);
}

int lifecycle_start(const struct mpistair_host *host)
{
    if (host->table_hash != MPISTAIR_TABLE_HASH || host->n_functions != FN_COUNT)
        return -1;
    recorder.host = host;
    recorder.pid = getpid();
    recorder.clock_source = spool_clock_detect();
    run_read_environment(run, host->folder);
    const char *shifted = getenv("MPISTAIR_TEST_CLOCK");
    if (shifted)
        spool_clock_test(shifted, run->host);
    return pthread_atfork(NULL, NULL, forked_child) == 0 && atexit(exiting) == 0 ? 0 : -1;
}

/* Tells on stderr, once, that processes have no spool. Collective. */
static void tell_unrecorded(int error)
{
    int mine[2] = {error != 0 ? run->rank : run->size, 0}, first;
    int failed = error != 0, n_failed = 0;
    PMPI(Allreduce)(&mine[0], &first, 1, MPI_INT, MPI_MIN, run->comm);
    PMPI(Allreduce)(&failed, &n_failed, 1, MPI_INT, MPI_SUM, run->comm);
    if (first == run->rank)
        say_line("%d of %d processes are not recorded: rank %d cannot write %s: %s", n_failed, run->size, run->rank,
                 run->folder, strerror(error));
}

/* Says whether a session of any process goes on after MPI_Finalize. Collective. */
static int sessions_go_on(void)
{
    int mine = recording_stage.n_open_sessions > 0, any = 0;
#ifdef MPI_SESSION_NULL
    PMPI(Allreduce)(&mine, &any, 1, MPI_INT, MPI_MAX, run->comm);
#endif
    return any || mine;
}

void lifecycle_end_alone(void)
{
    int recorded = recorder.recording;
    __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    if (recorded)
        process_spool_close(run);
    members_set_world(MPI_GROUP_NULL);
    stage_end_session();
    recording_stage.is_closed = 1;
    run->alone = 0;
    if (run->made_folder)
        rmdir(run->folder); /* it is empty where all files were brought elsewhere */
    if (run->apart ? join_speaks() : run->rank == 0)
        ingest_say(run, run->apart ? "processes did not join the recording, so the others end apart; once all have "
                                     "ended, the trace is made by"
                                   : INGEST_SESSIONS);
}

/* Ends where processes did not join: nothing may be collective. */
static int close_apart(void)
{
    recording_stage.in_world = 0;
    if (recording_stage.n_open_sessions == 0)
        lifecycle_end_alone();
    return MPI_SUCCESS;
}

/* Closes the spool and brings the files together with all other processes. */
static void close_together(void)
{
    uint64_t bytes = 0;
    world_comm_begin(run);
    world_comm_return_errors();
    int go_on = sessions_go_on(), ends = recording_stage.n_open_sessions == 0;
    int recorded = recorder.recording;
    if (ends)
        __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    struct spool_clock_link link = {.parent_rank = -1};
    if (run->n_leaders > 1 && world_comm_separate(run) == 0 && run->node_leader == run->rank)
        link = clock_link_measure(run);
    if (recorded)
        recorder.spool.header->link_finalize = link;
    run->alone = !ends;
    if (ends) {
        bytes = recorded ? process_spool_close(run) : 0;
        members_set_world(MPI_GROUP_NULL);
        recording_stage.is_closed = 1;
    }
    losses_tell(run, recorded ? recorder.spool.header : NULL);
    PMPI(Reduce)(&recorder.connected, &run_connected, 1, MPI_INT, MPI_MAX, 0, run->comm);
    PMPI(Reduce)(&bytes, &run_bytes, 1, MPI_UINT64_T, MPI_SUM, 0, run->comm);
    PMPI(Barrier)(run->comm); /* now all copies are made */
    if (!go_on && run->node_leader == run->rank && run->host_key != run->facts.host_key &&
        !process_spool_sees_marker(run)) {
        unlink(run->topology);
        if (run->made_folder)
            rmdir(run->folder);
    }
    if (go_on) {
        run_bytes = 0; /* there is no trace yet */
        if (ends && run->rank == 0)
            ingest_say(run, INGEST_SESSIONS);
    }
    world_comm_end(run);
    recording_stage.in_world = 0;
}

/* Ends the recording as the last thing that MPI_Finalize does for the application. A process with open sessions goes on
 * until the last of them ends. */
static int close_recording(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)value, (void)state;
    stage_lock();
    if (run->apart)
        close_apart();
    else
        close_together();
    stage_unlock();
    return MPI_SUCCESS;
}

/* Waits until all processes are here and agrees with them on the run. Where some do not come, all others take the name
 * that needs no agreement. Returns 0 or -1. */
static int agree(void)
{
    if (PMPI(Comm_rank)(MPI_COMM_WORLD, &run->rank) != MPI_SUCCESS ||
        PMPI(Comm_size)(MPI_COMM_WORLD, &run->size) != MPI_SUCCESS)
        return -1;
    run->apart = !join_wait(run);
    int result = !run->apart ? run_agree(run) : run->alone ? 0 : run_name_alone(run);
    run->alone |= run->apart && result == 0;
    roll_close();
    return result;
}

void init_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    (void)site;
    call->function = function;
    roll_sign();
    recorder.init_ticks = clock_ticks(recorder.clock_source);
}

/* Explains on stderr why a launcher of another MPI starts processes that do not find each other. */
static void tell_if_alone(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (run->size > 1 || run->parents > 0 || run->launched <= 1 || run->launched_as != 0)
        return;
    PMPI(Get_library_version)(library, &length);
    for (char *tab = strchr(library, '\t'); tab; tab = strchr(tab, '\t'))
        *tab = ' ';
    fprintf(stderr,
            "mpistair: the launcher started %d processes, and each is alone in an MPI_COMM_WORLD of its own: it is not "
            "the launcher of their MPI (%.*s). Start the job with the mpiexec of that MPI\n",
            run->launched, (int)strcspn(library, ",\r\n"), library);
}

/* Leaves a mark in rank 0's folder. Where rank 0 did not join, another process of its node does, if that is known to be
 * the only one. */
static void set_marker(void)
{
    int is_first = run->rank == 0 || (run->apart && join_speaks() && run->node_ranks == run->size);
    if (is_first)
        process_spool_set_marker(run);
}

/* Begins to record when MPI_Init has returned: all processes of MPI_COMM_WORLD are here, those included that began
 * alone, or will not come. */
static void begin_together(enum mpistair_function function)
{
    int provided = MPI_THREAD_SINGLE, parents = 0, thread_level;
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI(Query_thread)(&provided);
    thread_level = provided == MPI_THREAD_MULTIPLE     ? 3
                   : provided == MPI_THREAD_SERIALIZED ? 2
                   : provided == MPI_THREAD_FUNNELED   ? 1
                                                       : 0;
    if (PMPI(Comm_get_parent)(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL &&
        PMPI(Comm_remote_size)(parent, &parents) == MPI_SUCCESS)
        run->parents = parents;
    int was_alone = run->alone;
    if (agree() != 0) {
        if (join_speaks())
            fprintf(stderr, "mpistair: not recorded: %s\n",
                    run->apart ? "not all processes joined, and the launcher gives the others no common name"
                               : "the processes could not agree on the run");
        recorder.host->stop();
        return;
    }
    int error = was_alone ? 0 : process_spool_open(run, thread_level, MPI_GROUP_NULL);
    if (was_alone && communicator_init_world() == 0)
        stage_end_session(); /* from now on MPI_COMM_WORLD tells everything */
    recorder.begun = 1;
    recording_stage.in_world = 1;
    if (error == 0)
        set_marker();
    if (!run->apart)
        tell_unrecorded(error);
    else if (error != 0)
        fprintf(stderr, "mpistair: rank %d is not recorded: it cannot write %s: %s\n", run->rank, run->folder,
                strerror(error));
    tell_if_alone();
    struct spool_clock_link link = {.parent_rank = -1};
    if ((run->node_leader == run->rank || run->apart) && error == 0)
        topology_write(run);
    if (run->n_leaders > 1 && run->node_leader == run->rank)
        link = clock_link_measure(run);
    if (error == 0) {
        struct spool_header *header = recorder.spool.header;
        process_spool_describe(run, thread_level > header->thread_level ? thread_level : header->thread_level,
                               was_alone ? header->started_by : function);
        header->link_init = link;
        if (!was_alone)
            process_spool_count();
    }
    /* The callback runs on every process, recorded or not, for it is collective. */
    if (PMPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, close_recording, &self_key, NULL) == MPI_SUCCESS)
        PMPI(Comm_set_attr)(MPI_COMM_SELF, self_key, NULL);
    __atomic_store_n(&recorder.recording, error == 0, __ATOMIC_RELEASE);
    if (error == 0)
        recorder.spool.header->own_cost_ps = own_cost_ps();
}

void init_end(struct recorded_call *call, int result)
{
    int saved_errno = errno;
    if (result != MPI_SUCCESS || recorder.pid != getpid())
        return;
    stage_lock();
    if (recording_stage.is_closed || recording_stage.in_world) {
        /* a process initialises MPI once and opens its own spool once */
    } else if (reach_is_this_node_only()) {
        roll_close();
        const char *first = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
        if (first && strcmp(first, "0") == 0)
            fprintf(stderr,
                    "mpistair: not recorded: LD_PRELOAD does not reach the other nodes; use mpistair run, or hand "
                    "it on with mpiexec -x LD_PRELOAD (and each MPISTAIR_ variable that is set)\n");
        recorder.host->stop();
    } else {
        world_comm_begin(run);
        begin_together(call->function);
        world_comm_end(run);
    }
    stage_unlock();
    errno = saved_errno;
}

void finalize_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    (void)call, (void)function, (void)site;
}

void finalize_end(struct recorded_call *call, int result)
{
    int saved_errno = errno;
    (void)call;
    if (result == MPI_SUCCESS && recorder.begun && run->rank == 0 && run_bytes > 0) {
        if (!run_connected)
            ingest_run(run, run_bytes);
        else if (run->parents == 0) /* spawned processes leave the telling to their parents */
            ingest_say(run, "several MPI_COMM_WORLDs are connected; once all have ended, their trace is made by");
    }
    errno = saved_errno;
}

void abort_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    if (call_begin(call, function, site))
        process_spool_note_end(&recorder_run, SPOOL_END_ABORT);
}

void abort_end(struct recorded_call *call, int result)
{
    (void)call, (void)result;
}
