/* From MPI_Init to MPI_Finalize, MPI_Abort or exit. See lifecycle.h.
 *
 * What can fail does so before the first record, and alike in all processes where they must agree; a process whose
 * spool cannot be opened goes on unrecorded but takes part in what is collective.
 */
#include "lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock_link.h"
#include "communicator.h"
#include "datatype.h"
#include "eager_limit.h"
#include "losses.h"
#include "own_cost.h"
#include "patience.h"
#include "reach.h"
#include "request_table.h"
#include "run.h"

#ifdef OPEN_MPI
#define BACKEND_FAMILY SPOOL_FAMILY_OPENMPI
#else
#define BACKEND_FAMILY SPOOL_FAMILY_MPICH
#endif

static struct run run;
static int self_key = MPI_KEYVAL_INVALID;
static uint64_t run_bytes; /* of all spools; on rank 0, after the closing */

/* In a forked child: the spool is the parent's. The preload library makes all calls pass through by itself. */
static void forked_child(void)
{
    __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    recorder.spool.header = NULL;
}

/* Notes how the process ended, and all that a reader of its spool needs of it. */
static void note_end(enum spool_end end)
{
    struct spool_header *header = recorder.spool.header;
    header->finish = spool_clock_pair(recorder.clock_source);
    if (run_copy_maps(&run) == 0)
        snprintf(header->maps, sizeof header->maps, "%.511s", run.maps);
    __atomic_store_n(&header->end, end, __ATOMIC_RELEASE);
}

/* exit() without MPI_Finalize. */
static void exiting(void)
{
    if (recorder.spool.header && recorder.pid == getpid() && recorder.spool.header->end == SPOOL_END_NONE)
        note_end(SPOOL_END_EXIT);
}

int lifecycle_start(const struct mpistair_host *host)
{
    if (host->table_hash != MPISTAIR_TABLE_HASH || host->n_functions != FN_COUNT)
        return -1;
    recorder.host = host;
    recorder.pid = getpid();
    recorder.clock_source = spool_clock_detect();
    run_read_environment(&run);
    const char *shifted = getenv("MPISTAIR_TEST_CLOCK");
    if (shifted)
        spool_clock_test(shifted, run.host);
    return pthread_atfork(NULL, NULL, forked_child) == 0 && atexit(exiting) == 0 ? 0 : -1;
}

/* Passed-through calls are counted in the spool from now on. */
static void count_in_spool(struct spool_header *header)
{
    const uint64_t *so_far = *recorder.host->calls;
    _Static_assert(FN_COUNT <= sizeof header->calls / sizeof *header->calls, "the header counts all functions");
    for (uint32_t function = 0; function < FN_COUNT; function++)
        header->calls[function] = so_far[function];
    *recorder.host->calls = header->calls;
}

static void read_command(char *command, size_t size)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, command, size - 1);
    if (fd >= 0)
        close(fd);
    while (length > 0 && command[length - 1] == '\0')
        length--;
    for (ssize_t i = 0; i < length; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    command[length > 0 ? length : 0] = '\0';
}

static void fill_header(struct spool_header *header, int thread_level)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    header->family = BACKEND_FAMILY;
    header->rank = run.rank;
    header->world_size = run.size;
    header->node_leader = run.node_leader;
    header->thread_level = thread_level;
    header->pid = (uint32_t)recorder.pid;
    header->n_functions = FN_COUNT;
    header->table_hash = MPISTAIR_TABLE_HASH;
    snprintf(header->run_key, sizeof header->run_key, "%s", run.facts.key);
    snprintf(header->host, sizeof header->host, "%s", run.host);
    PMPI(Get_library_version)(library, &length);
    snprintf(header->library, sizeof header->library, "%.511s", library);
    read_command(header->command, sizeof header->command);
    header->eager_limit_bytes = eager_limit_bytes(0);
    header->eager_limit_network_bytes = run.n_leaders > 1 ? eager_limit_bytes(1) : 0;
    snprintf(header->topology, sizeof header->topology, "%.511s", run.topology);
    snprintf(header->maps, sizeof header->maps, "%.511s", run.maps);
}

/* Opens the spool and the tables. Returns 0 or an errno value. */
static int open_recording(int thread_level)
{
    int error = run_make_folder(&run);
    if (error == 0)
        error = spool_writer_open(&recorder.spool, run.spool,
                                  run_spool_limit_bytes(&run) / (uint64_t)(run.node_ranks > 0 ? run.node_ranks : 1),
                                  recorder.clock_source);
    if (error != 0)
        return error;
    recorder.multiple = thread_level == 3;
    datatype_init();
    if (request_table_init(recorder.multiple) != 0 || communicator_init(recorder.multiple) != 0) {
        unlink(run.spool);
        spool_writer_close(&recorder.spool);
        recorder.spool.header = NULL;
        return ENOMEM;
    }
    run_copy_maps(&run);
    return 0;
}

/* Tells on stderr, once, that processes have no spool. Collective. */
static void tell_unrecorded(int error)
{
    int mine[2] = {error != 0 ? run.rank : run.size, 0}, first;
    int failed = error != 0, n_failed = 0;
    PMPI(Allreduce)(&mine[0], &first, 1, MPI_INT, MPI_MIN, run.comm);
    PMPI(Allreduce)(&failed, &n_failed, 1, MPI_INT, MPI_SUM, run.comm);
    if (first == run.rank)
        fprintf(stderr, "mpistair: %d of %d processes are not recorded: rank %d cannot write %s: %s\n", n_failed,
                run.size, run.rank, run.folder, strerror(error));
}

/* Rank 0 leaves a mark in its folder; who sees it in his own shares that folder, and need not copy at the end. */
static void marker_path(char path[PATH_MAX], const char *folder)
{
    snprintf(path, PATH_MAX, "%.3000s/%s.run", folder, run.facts.key);
}

static void set_marker(void)
{
    char path[PATH_MAX];
    marker_path(path, run.folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
}

static int sees_marker(void)
{
    char path[PATH_MAX];
    marker_path(path, run.folder);
    return access(path, F_OK) == 0;
}

/* The last that MPI_Finalize does of the application's: closes the spool and brings the files together. */
static int close_recording(MPI_Comm self, int key, void *value, void *state)
{
    uint64_t bytes = 0;
    (void)self, (void)key, (void)value, (void)state;
    int recorded = recorder.recording;
    __atomic_store_n(&recorder.recording, 0, __ATOMIC_RELAXED);
    struct spool_clock_link link = {.parent_rank = -1};
    if (run.n_leaders > 1 && run.node_leader == run.rank)
        link = clock_link_measure(&run);
    if (recorded) {
        recorder.spool.header->link_finalize = link;
        note_end(SPOOL_END_FINALIZE);
        bytes = spool_writer_close(&recorder.spool);
        if (run.host_key != run.facts.host_key && !sees_marker() && run_collect(&run) == 0) {
            unlink(run.spool);
            unlink(run.maps);
        }
    }
    losses_tell(&run, recorded ? recorder.spool.header : NULL);
    PMPI(Reduce)(&bytes, &run_bytes, 1, MPI_UINT64_T, MPI_SUM, 0, run.comm);
    PMPI(Barrier)(run.comm); /* all copies are made */
    if (run.node_leader == run.rank && run.host_key != run.facts.host_key && !sees_marker()) {
        unlink(run.topology);
        if (run.made_folder)
            rmdir(run.folder);
    }
    PMPI(Comm_free)(&run.comm);
    return MPI_SUCCESS;
}

/* The run's communicator, with errors returned to us, and the callback that ends it. Returns 0 or -1. */
static int prepare_mpi(void)
{
    struct patience patience;
    if (PMPI(Comm_rank)(MPI_COMM_WORLD, &run.rank) != MPI_SUCCESS ||
        PMPI(Comm_size)(MPI_COMM_WORLD, &run.size) != MPI_SUCCESS)
        return -1;
    patience_begin(&patience, run.rank, run.size);
    int result = PMPI(Comm_dup)(MPI_COMM_WORLD, &run.comm) == MPI_SUCCESS ? 0 : -1;
    if (result == 0) {
        PMPI(Comm_set_errhandler)(run.comm, MPI_ERRORS_RETURN);
        result = run_agree(&run);
    }
    patience_end(&patience);
    return result;
}

void init_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    (void)call, (void)function, (void)site;
}

void init_end(struct recorded_call *call, int result)
{
    int saved_errno = errno, thread_level = 0;
    (void)call;
    if (result != MPI_SUCCESS || recorder.begun || recorder.pid != getpid())
        return;
    recorder.begun = 1;
    int provided = MPI_THREAD_SINGLE;
    PMPI(Query_thread)(&provided);
    thread_level = provided == MPI_THREAD_MULTIPLE     ? 3
                   : provided == MPI_THREAD_SERIALIZED ? 2
                   : provided == MPI_THREAD_FUNNELED   ? 1
                                                       : 0;
    if (reach_is_this_node_only()) {
        const char *first = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
        if (first && strcmp(first, "0") == 0)
            fprintf(stderr,
                    "mpistair: not recorded: LD_PRELOAD does not reach the other nodes; use mpistair run, or hand "
                    "it on with mpiexec -x LD_PRELOAD (and each MPISTAIR_ variable that is set)\n");
        recorder.host->stop();
        errno = saved_errno;
        return;
    }
    if (prepare_mpi() != 0) {
        if (run.rank == 0)
            fprintf(stderr, "mpistair: not recorded: the processes could not agree on the run\n");
        recorder.host->stop();
        return;
    }
    int error = open_recording(thread_level);
    if (error == 0 && run.rank == 0)
        set_marker();
    tell_unrecorded(error);
    struct spool_clock_link link = {.parent_rank = -1};
    if (run.node_leader == run.rank && error == 0)
        topology_write(&run);
    if (run.n_leaders > 1 && run.node_leader == run.rank)
        link = clock_link_measure(&run);
    if (error == 0) {
        fill_header(recorder.spool.header, thread_level);
        recorder.spool.header->link_init = link;
        count_in_spool(recorder.spool.header);
    }
    /* The callback runs on every process, recorded or not, for it is collective. */
    if (PMPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, close_recording, &self_key, NULL) == MPI_SUCCESS)
        PMPI(Comm_set_attr)(MPI_COMM_SELF, self_key, NULL);
    __atomic_store_n(&recorder.recording, error == 0, __ATOMIC_RELEASE);
    if (error == 0)
        recorder.spool.header->own_cost_ps = own_cost_ps();
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
    if (result == MPI_SUCCESS && recorder.begun && run.rank == 0 && run_bytes > 0)
        ingest_run(&run, run_bytes);
    errno = saved_errno;
}

void abort_begin(struct recorded_call *call, enum mpistair_function function, uint64_t site)
{
    if (call_begin(call, function, site))
        note_end(SPOOL_END_ABORT);
}

void abort_end(struct recorded_call *call, int result)
{
    (void)call, (void)result;
}
