/* Begins and ends the recording: from MPI_Init or MPI_Session_init to MPI_Finalize, MPI_Abort or exit. See lifecycle.h.
 *
 * What can fail does so before the first record, and alike in all processes where they must agree. A process whose
 * spool cannot be opened goes on unrecorded but takes part in what is collective. */
#include "interpose/backend/process/lifecycle.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/backend/call/call.h"
#include "interpose/backend/family/completion.h"
#include "interpose/backend/process/process_spool.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/backend/region/region.h"
#include "interpose/backend/run/comm.h"
#include "interpose/backend/run/join.h"
#include "interpose/backend/run/launcher_environment.h"
#include "interpose/backend/run/node.h"
#include "interpose/backend/run/run.h"
#include "interpose/backend/run/start_ingest.h"
#include "interpose/backend/table/communicator.h"
#include "share/base/settings.h"

static struct run the_run;
static struct run *const own_run = &the_run;

/* How far the recording of this process is: what its two beginnings (MPI_Init, MPI_Session_init) and its two ends
 * know of each other. Several threads may call MPI_Session_init, so it is used with the lock held only. */
static struct {
    int in_world;        /* MPI_Init was recorded, and MPI_Finalize is still to come */
    int is_closed;       /* the spool is closed for good */
    int n_open_sessions; /* those of the application */
} stage;
static pthread_mutex_t stage_lock = PTHREAD_MUTEX_INITIALIZER;

/* The recorder has a session of its own, since the application's first may end before its last, and the group of
 * mpi://WORLD must not end before the recorder. */
#ifdef MPI_SESSION_NULL

static MPI_Session own_session = MPI_SESSION_NULL;

/* Ends that session, if there is one; its group must be given back before. */
static void end_own_session(void)
{
    if (own_session != MPI_SESSION_NULL)
        PMPI(Session_finalize)(&own_session);
    own_session = MPI_SESSION_NULL;
}

#else

static void end_own_session(void)
{
}

#endif

/* The recorder's own communication goes over MPI_COMM_WORLD itself. A communicator of our own would be safe from the
 * application, but not the application from it: making one takes a context id, a handle and, in Open MPI, tags of the
 * nonblocking collectives on MPI_COMM_WORLD. Open MPI's MPI_Dist_graph_create receives from any source with two tags of
 * that range (-50, -51), so whether it hangs depends on how many such collectives came before. The recorder leaves that
 * number as it is.
 *
 * At MPI_Init we are alone on MPI_COMM_WORLD: the application's first message to a process that is still here comes
 * from one that has left, after all that this one sent us, and messages do not overtake. At MPI_Finalize collectives
 * keep apart from what the application left behind; messages do not. */
static MPI_Errhandler users_handler;
static int has_users_handler;

/* Makes errors return to us until world_comm_end, which brings the application's error handler back. For MPI_Finalize
 * only: at MPI_Init MPICH has no handler set, so that an error in a copy of MPI_COMM_WORLD takes the handler that
 * MPI_COMM_WORLD has by then, and "no handler" cannot be set again. */
static void world_comm_return_errors(void)
{
    has_users_handler = PMPI(Comm_get_errhandler)(MPI_COMM_WORLD, &users_handler) == MPI_SUCCESS;
    PMPI(Comm_set_errhandler)(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static void world_comm_end(void)
{
    if (run_comm != MPI_COMM_WORLD)
        PMPI(Comm_free)(&run_comm);
    run_comm = MPI_COMM_NULL;
    if (!has_users_handler)
        return;
    has_users_handler = 0;
    PMPI(Comm_set_errhandler)(MPI_COMM_WORLD, users_handler);
    PMPI(Errhandler_free)(&users_handler);
}

/* Makes run_comm a copy that world_comm_end frees, for MPI_Finalize before point-to-point messages: a receive from
 * MPI_ANY_SOURCE that the application left behind must not take them. Collective; returns 0, or -1 in every process. */
static int world_comm_separate(void)
{
    MPI_Comm copy = MPI_COMM_NULL;
    int mine = PMPI(Comm_dup)(MPI_COMM_WORLD, &copy) == MPI_SUCCESS, all = 0;
    if (PMPI(Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) != MPI_SUCCESS || !all)
        return -1; /* if only some have failed, the rest is lost, as MPI ends anyway */
    PMPI(Comm_set_errhandler)(copy, MPI_ERRORS_RETURN);
    run_comm = copy;
    return 0;
}

/* What recording costs in this process: the recorder runs here without MPI. Posts of MPI_Isend and their MPI_Wait go
 * through the same begin and end functions that the wrappers call, into a lane whose chunk is memory of our own. The
 * request is none of MPI's and never handed to it. Only the wrapper itself is missing, two jumps (2 ns). Each batch
 * fills fresh memory, as a job does; the fastest batch counts, since the others were disturbed. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define BATCHES     20
#define PAIRS       100 /* pairs of a post and its completion in a batch */
#define PAIR_BYTES  (sizeof(struct spool_operation) + sizeof(struct spool_call))
#define BATCH_BYTES (PAIRS * PAIR_BYTES)

static void pair(MPI_Request request)
{
    struct posted_call post;
    struct completion_call completion;
    MPI_Status *status = MPI_STATUS_IGNORE;
    if (call_begin(&post.call, FN_Isend, (const void *)1))
        isend_begin(&post, &post, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    if (call_recorded(&post.call))
        isend_end(&post, MPI_SUCCESS, &request);
    if (call_begin(&completion.call, FN_Wait, (const void *)1))
        wait_begin(&completion, &request, &status);
    request = MPI_REQUEST_NULL;
    if (completion.call.thread)
        wait_end(&completion, MPI_SUCCESS, &request, NULL);
}

/* Returns the ns of the fastest batch; the lane has room for all batches, and for one pair and a stack before. */
static uint64_t fastest_batch_ns(MPI_Request request)
{
    uint64_t fastest_ns = UINT64_MAX;
    pair(request); /* this pair looks the communicator up and pages in the code */
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t begin_ns = clock_monotonic_ns();
        for (int i = 0; i < PAIRS; i++)
            pair(request);
        uint64_t batch_ns = clock_monotonic_ns() - begin_ns;
        fastest_ns = batch_ns < fastest_ns ? batch_ns : fastest_ns;
    }
    return fastest_ns;
}

/* Returns the picoseconds that recording adds to a nonblocking call; 0 if it was not measured (no memory). Takes
 * less than 0.5 ms, calls no MPI, leaves nothing in the spool. Call it once, while recording is on and the
 * application does not run yet. */
static uint64_t own_cost_ps(void)
{
    static uint64_t stand_in; /* no request of MPI's has its address, or these bits */
    uint64_t handle = (uint64_t)(uintptr_t)&stand_in, fastest_ns = 0;
    const size_t bytes = BATCHES * BATCH_BYTES + PAIR_BYTES + spool_stack_bytes(SPOOL_STACK_LIMIT, 1);
    int saved_errno = errno;
    MPI_Request request;
    struct recorder_thread *thread = recorder_thread_own();
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (thread && memory != MAP_FAILED && !recorder.off) { /* sums do not go into the lane that lies in memory */
        madvise(memory, bytes, MADV_POPULATE_WRITE);       /* where this fails, the first touch of a page counts, too */
        struct spool_lane *before = thread->lane;
        struct spool_lane lane = {.next = memory, .end = memory + bytes, .writer = &recorder.spool, .chunk = memory};
        memcpy(&request, &handle, sizeof request);
        thread->lane = &lane;
        fastest_ns = fastest_batch_ns(request);
        thread->lane = before;
    }
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    errno = saved_errno;
    return fastest_ns * 1000 / (2 * PAIRS);
}

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
        process_spool_note_end(own_run, SPOOL_END_EXIT);
}

int lifecycle_start(const struct mpistair_host *host)
{
    if (host->table_hash != MPISTAIR_TABLE_HASH || host->n_functions != FN_COUNT)
        return -1;
    recorder.host = host;
    recorder.pid = getpid();
    recorder.clock_source = spool_clock_detect();
    spool_file_expect();
    settings_read(host->folder);
    run_read_environment(own_run, host->folder);
    const char *detail = setting("MPISTAIR_DETAIL");
    recorder.sums = detail && strcmp(detail, "none") == 0;
    const char *shifted = getenv("MPISTAIR_TEST_CLOCK");
    if (shifted)
        spool_clock_test(shifted, own_run->host);
    return pthread_atfork(NULL, NULL, forked_child) == 0 && atexit(exiting) == 0 ? 0 : -1;
}

/* Tells on stderr, once, that processes have no spool. Collective. */
static void tell_unrecorded(int error)
{
    int mine[2] = {error != 0 ? own_run->rank : own_run->size, 0}, first;
    int failed = error != 0, n_failed = 0;
    PMPI(Allreduce)(&mine[0], &first, 1, MPI_INT, MPI_MIN, run_comm);
    PMPI(Allreduce)(&failed, &n_failed, 1, MPI_INT, MPI_SUM, run_comm);
    if (first == own_run->rank)
        say_line("%d of %d processes are not recorded: rank %d cannot write %s: %s", n_failed, own_run->size,
                 own_run->rank, own_run->folder, strerror(error));
}

/* Returns whether a session of any process goes on after MPI_Finalize. Collective. */
static int sessions_go_on(void)
{
    int mine = stage.n_open_sessions > 0, any = 0;
#ifdef MPI_SESSION_NULL
    PMPI(Allreduce)(&mine, &any, 1, MPI_INT, MPI_MAX, run_comm);
#endif
    return any || mine;
}

/* Ends the recording of a process that is alone. The caller holds the lock. */
static void end_alone(void)
{
    int recorded = recorder.recording;
    __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    if (recorded)
        process_spool_close(own_run);
    communicator_set_world(MPI_GROUP_NULL);
    end_own_session();
    stage.is_closed = 1;
    own_run->alone = 0;
    if (own_run->made_folder)
        rmdir(own_run->folder); /* it is empty where all files were brought elsewhere */
    if (own_run->apart ? join_speaks() : own_run->rank == 0)
        ingest_say(own_run, own_run->apart
                                ? "processes did not join the recording, so the others end apart; once all have "
                                  "ended, the trace is made by"
                                : INGEST_SESSIONS);
}

/* Closes the spool and brings the files together with all other processes. */
static void close_together(void)
{
    uint64_t bytes = 0;
    run_comm = MPI_COMM_WORLD;
    world_comm_return_errors();
    int go_on = sessions_go_on(), ends = stage.n_open_sessions == 0;
    int recorded = recorder.recording;
    if (ends)
        __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    struct spool_clock_link link = {.parent_rank = -1};
    int64_t root_ahead_ns;
    if (own_run->n_leaders > 1 && world_comm_separate() == 0 && own_run->node_leader == own_run->rank)
        link = node_measure_clock_link(own_run, &root_ahead_ns);
    if (recorded)
        recorder.spool.header->link_finalize = link;
    own_run->alone = !ends;
    if (ends) {
        bytes = recorded ? process_spool_close(own_run) : 0;
        communicator_set_world(MPI_GROUP_NULL);
        stage.is_closed = 1;
    }
    process_spool_tell_losses(own_run, recorded ? recorder.spool.header : NULL);
    PMPI(Reduce)(&recorder.connected, &run_connected, 1, MPI_INT, MPI_MAX, 0, run_comm);
    PMPI(Reduce)(&bytes, &run_bytes, 1, MPI_UINT64_T, MPI_SUM, 0, run_comm);
    PMPI(Barrier)(run_comm); /* now all copies are made */
    if (!go_on && own_run->node_leader == own_run->rank && own_run->is_copied) {
        unlink(own_run->topology);
        if (own_run->made_folder)
            rmdir(own_run->folder);
    }
    if (go_on) {
        run_bytes = 0; /* there is no trace yet */
        if (ends && own_run->rank == 0)
            ingest_say(own_run, INGEST_SESSIONS);
    }
    world_comm_end();
    stage.in_world = 0;
}

/* Ends the recording as the last thing that MPI_Finalize does for the application. A process with open sessions goes on
 * until the last of them ends. */
static int close_recording(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)value, (void)state;
    pthread_mutex_lock(&stage_lock);
    if (!own_run->apart) {
        close_together();
    } else { /* processes did not join: nothing may be collective */
        stage.in_world = 0;
        if (stage.n_open_sessions == 0)
            end_alone();
    }
    pthread_mutex_unlock(&stage_lock);
    return MPI_SUCCESS;
}

/* Waits until all processes are here and agrees with them on the run. Where some do not come, all others take the name
 * that needs no agreement. Returns 0 or -1. */
static int agree(void)
{
    if (PMPI(Comm_rank)(MPI_COMM_WORLD, &own_run->rank) != MPI_SUCCESS ||
        PMPI(Comm_size)(MPI_COMM_WORLD, &own_run->size) != MPI_SUCCESS)
        return -1;
    own_run->apart = !join_wait(own_run);
    int result = !own_run->apart ? run_agree(own_run) : own_run->alone ? 0 : run_name_alone(own_run);
    own_run->alone |= own_run->apart && result == 0;
    join_withdraw();
    return result;
}

void init_begin(struct recorded_call *call)
{
    (void)call;
    join_announce();
    recorder.init_ticks = now_ticks();
}

/* Explains on stderr why a launcher of another MPI starts processes that do not find each other. */
static void tell_if_alone(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (own_run->size > 1 || own_run->parents > 0 || own_run->launched <= 1 || own_run->launched_as != 0)
        return;
    PMPI(Get_library_version)(library, &length);
    for (char *tab = strchr(library, '\t'); tab; tab = strchr(tab, '\t'))
        *tab = ' ';
    fprintf(stderr,
            "mpistair: the launcher started %d processes, and each is alone in an MPI_COMM_WORLD of its own: it is not "
            "the launcher of their MPI (%.*s). Start the job with the mpiexec of that MPI\n",
            own_run->launched, (int)strcspn(library, ",\r\n"), library);
}

/* Leaves a mark in rank 0's folder. Where rank 0 did not join, another process of its node does, if that is known to be
 * the only one. */
static void set_marker(void)
{
    int is_first = own_run->rank == 0 || (own_run->apart && join_speaks() && own_run->node_ranks == own_run->size);
    if (is_first)
        process_spool_set_marker(own_run);
}

/* Takes over what marks regions; a host of tests has none. */
static void begin_regions(void)
{
    if (recorder.host->begin_regions)
        recorder.host->begin_regions();
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
        own_run->parents = parents;
    int was_alone = own_run->alone;
    if (agree() != 0) {
        if (join_speaks())
            fprintf(stderr, "mpistair: not recorded: %s\n",
                    own_run->apart ? "not all processes joined, and the launcher gives the others no common name"
                                   : "the processes could not agree on the run");
        recorder.host->stop();
        return;
    }
    int error = was_alone ? 0 : process_spool_open(own_run, thread_level, MPI_GROUP_NULL);
    if (was_alone && communicator_init_world(recorder_thread_own()) == 0)
        end_own_session(); /* from now on MPI_COMM_WORLD tells everything */
    recorder.begun = 1;
    stage.in_world = 1;
    if (error == 0)
        set_marker();
    if (!own_run->apart)
        tell_unrecorded(error);
    else if (error != 0)
        fprintf(stderr, "mpistair: rank %d is not recorded: it cannot write %s: %s\n", own_run->rank, own_run->folder,
                strerror(error));
    tell_if_alone();
    struct spool_clock_link link = {.parent_rank = -1};
    int64_t root_ahead_ns = own_run->n_leaders == 1 ? 0 : NODE_CLOCK_UNKNOWN;
    if ((own_run->node_leader == own_run->rank || own_run->apart) && error == 0)
        node_write_topology(own_run);
    if (own_run->n_leaders > 1 && own_run->node_leader == own_run->rank)
        link = node_measure_clock_link(own_run, &root_ahead_ns);
    if (own_run->n_leaders > 1 && !own_run->apart)
        root_ahead_ns = node_agree_root_ahead(own_run, root_ahead_ns);
    int64_t began_ns = own_run->apart ? 0 : node_agree_begin(root_ahead_ns);
    if (error == 0) {
        struct spool_header *header = recorder.spool.header;
        process_spool_describe(own_run, thread_level > header->thread_level ? thread_level : header->thread_level,
                               was_alone ? header->started_by : function);
        header->link_init = link;
        if (!was_alone)
            process_spool_set_bursts(own_run, root_ahead_ns, began_ns);
        if (!was_alone)
            process_spool_count();
    }
    /* The callback runs on every process, recorded or not, for it is collective. */
    if (PMPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, close_recording, &self_key, NULL) == MPI_SUCCESS)
        PMPI(Comm_set_attr)(MPI_COMM_SELF, self_key, NULL);
    if (error == 0) {
        start_recording();
        recorder.spool.header->own_cost_ps = own_cost_ps();
        begin_regions();
    }
}

void init_end(struct recorded_call *call, int result)
{
    int saved_errno = errno;
    if (result != MPI_SUCCESS || recorder.pid != getpid())
        return;
    pthread_mutex_lock(&stage_lock);
    if (stage.is_closed || stage.in_world) {
        /* a process initialises MPI once and opens its own spool once */
    } else if (launcher_preloads_this_node_only()) {
        join_withdraw();
        const char *first = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
        if (first && strcmp(first, "0") == 0)
            fprintf(stderr, "mpistair: not recorded: LD_PRELOAD does not reach the other nodes; use mpistair run, or "
                            "pass it on with mpiexec -x LD_PRELOAD (and each MPISTAIR_ variable that is set)\n");
        recorder.host->stop();
    } else {
        run_comm = MPI_COMM_WORLD;
        begin_together(call->function);
        world_comm_end();
    }
    pthread_mutex_unlock(&stage_lock);
    errno = saved_errno;
}

void finalize_end(struct recorded_call *call, int result)
{
    int saved_errno = errno;
    (void)call;
    if (result == MPI_SUCCESS && recorder.begun && own_run->rank == 0 && run_bytes > 0) {
        if (!run_connected)
            ingest_run(own_run, run_bytes);
        else if (own_run->parents == 0) /* spawned processes leave the telling to their parents */
            ingest_say(own_run, "several MPI_COMM_WORLDs are connected; once all have ended, their trace is made by");
    }
    errno = saved_errno;
}

void abort_begin(struct recorded_call *call)
{
    (void)call;
    process_spool_note_end(own_run, SPOOL_END_ABORT);
}

#ifdef MPI_SESSION_NULL

static int is_told; /* the reason why nothing is recorded has been printed */

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
static int open_own(MPI_Info info, MPI_Group *world)
{
    if (PMPI(Session_init)(info, MPI_ERRORS_RETURN, &own_session) != MPI_SUCCESS) {
        own_session = MPI_SESSION_NULL;
        return -1;
    }
    if (PMPI(Group_from_session_pset)(own_session, "mpi://WORLD", world) == MPI_SUCCESS) {
        if (PMPI(Group_rank)(*world, &own_run->rank) == MPI_SUCCESS && own_run->rank >= 0 &&
            PMPI(Group_size)(*world, &own_run->size) == MPI_SUCCESS)
            return 0;
        PMPI(Group_free)(world);
    }
    end_own_session();
    return -1;
}

static void tell_not_recorded(const char *reason)
{
    if (!is_told && own_run->rank == 0)
        fprintf(stderr, "mpistair: not recorded from MPI_Session_init on: %s\n", reason);
    is_told = 1;
}

/* Begins alone. The caller holds the lock. What fails is tried again at the next session, or at MPI_Init. */
static void begin_alone(enum mpistair_function function, MPI_Info info)
{
    MPI_Group world;
    if (open_own(info, &world) != 0) {
        tell_not_recorded("this MPI has no group of processes for mpi://WORLD");
        return;
    }
    if (run_name_alone(own_run) != 0) {
        PMPI(Group_free)(&world);
        end_own_session();
        tell_not_recorded("the launcher gives its processes no common name; start the job by mpistair run");
        return;
    }
    int thread_level = thread_level_of(own_session);
    /* A later session, or MPI_Init_thread, may allow more threads, so the tables are made for the highest level. */
    int error = process_spool_open(own_run, 3, world);
    if (error != 0) {
        PMPI(Group_free)(&world);
        end_own_session();
        say_line("rank %d is not recorded from MPI_Session_init on: it cannot write %s: %s", own_run->rank,
                 own_run->folder, strerror(error));
        return;
    }
    recorder.begun = 1;
    own_run->alone = 1;
    if (own_run->rank == 0)
        process_spool_set_marker(own_run);
    node_write_topology(own_run);
    process_spool_describe(own_run, thread_level, function);
    process_spool_set_bursts(own_run, NODE_CLOCK_UNKNOWN, 0);
    recorder.spool.header->link_init.parent_rank = -1;
    recorder.spool.header->link_finalize.parent_rank = -1;
    process_spool_count();
    start_recording();
    recorder.spool.header->own_cost_ps = own_cost_ps();
    begin_regions();
}

void session_init_end(struct recorded_call *call, int result, MPI_Info info)
{
    int saved_errno = errno;
    if (result != MPI_SUCCESS || recorder.pid != getpid())
        return;
    pthread_mutex_lock(&stage_lock);
    stage.n_open_sessions++;
    if (!recorder.begun)
        begin_alone(call->function, info);
    else if (stage.is_closed)
        (*recorder.host->calls)[call->function]++; /* what follows is not recorded */
    pthread_mutex_unlock(&stage_lock);
    errno = saved_errno;
}

void session_finalize_begin(struct recorded_call *call)
{
    int saved_errno = errno;
    (void)call;
    if (recorder.pid != getpid())
        return;
    pthread_mutex_lock(&stage_lock);
    if (stage.n_open_sessions > 0 && --stage.n_open_sessions == 0 && own_run->alone && !stage.in_world)
        end_alone();
    pthread_mutex_unlock(&stage_lock);
    errno = saved_errno;
}

#endif

enum { LEVEL_FLUSH = 2 };

void pcontrol_begin(struct recorded_call *call, int level, const void *word)
{
    if (region_pcontrol(level, word))
        return;
    window_mark(call, level);
    if (level == LEVEL_FLUSH)
        spool_lane_flush(call->thread->lane);
}
