/* The header of a spool is filled in pieces, as the process learns who it is, and file and tables must come and go in
 * one order: both are decided here. See process_spool.h. */
#include "interpose/backend/process/process_spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/backend/call/call.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/backend/run/comm.h"
#include "interpose/backend/run/folder.h"
#include "interpose/backend/run/launcher_environment.h"
#include "interpose/backend/run/node.h"
#include "interpose/backend/region/region.h"
#include "interpose/backend/site/modules.h"
#include "interpose/backend/site/stack.h"
#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/table/request_table.h"
#include "interpose/spool/counter_thread.h"
#include "interpose/spool/error_name.h"
#include "interpose/spool/readers.h"
#include "share/base/settings.h"

static void read_command(char *command, size_t size)
{
    size_t length = spool_read_text("/proc/self/cmdline", command, size);
    while (length > 0 && command[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (command[i] == '\0')
            command[i] = ' ';
}

/* Keeps the path; of one that is too long the end, as readers take its last part alone. */
static void keep_path(char kept[512], const char *path)
{
    size_t length = strlen(path);
    memcpy(kept, length < 512 ? path : path + length - 511, length < 512 ? length + 1 : 512);
}

/* Writes which process of which run this is: all that makes the spool a valid one. */
static void identify_process(const struct run *run)
{
    struct spool_header *header = recorder.spool.header;
    header->family = recorder.host->family;
    header->rank = run->rank;
    header->world_size = run->size;
    header->node_leader = run->node_leader;
    header->pid = (uint32_t)recorder.pid;
    header->n_functions = FN_COUNT;
    header->table_hash = MPISTAIR_TABLE_HASH;
    header->parents = run->parents;
    snprintf(header->run_key, sizeof header->run_key, "%s", run->facts.key);
    snprintf(header->launch, sizeof header->launch, "%s", run->launch);
    launcher_world(header->world, sizeof header->world);
    if (run->parents > 0)
        launcher_parent(header->parent_world, sizeof header->parent_world, &header->parent_root);
    snprintf(header->host, sizeof header->host, "%s", run->host);
    header->kernel_key = run->kernel_key;
    read_command(header->command, sizeof header->command);
}

/* Takes the room that MPISTAIR_PREALLOCATE asks for. Where there is none, the spool grows as it does without. */
static void preallocate(const struct run *run)
{
    uint64_t bytes = run_preallocate_bytes(run);
    int error = spool_writer_preallocate(&recorder.spool, bytes);
    if (error != 0 && (run->rank == 0 || run->rank == run->node_leader))
        fprintf(stderr,
                "mpistair: rank %d: MPISTAIR_PREALLOCATE=%s: no room for %" PRIu64
                " bytes a process in %s on %s: %s; its spools grow as they need it\n",
                run->rank, setting("MPISTAIR_PREALLOCATE"), bytes, run->folder, run->host, strerror(error));
}

int process_spool_open(struct run *run, int thread_level, MPI_Group world)
{
    int error = folder_make_for(run), folder = error == 0 ? folder_open(run) : -1;
    if (error == 0 && folder < 0)
        error = errno;
    if (error == 0)
        error = spool_writer_open(&recorder.spool, folder, strrchr(run->spool, '/') + 1, run_spool_limit_bytes(run),
                                  recorder.clock_source);
    if (folder >= 0)
        close(folder);
    if (error != 0)
        return error;
    if (recorder.sums && !recorder.spool.fold.area) { /* there is nothing to add to */
        unlink(run->spool);
        spool_writer_close(&recorder.spool);
        recorder.spool.header = NULL;
        return ENOSPC;
    }
    recorder.spool.header->only_totals = recorder.sums != 0;
    preallocate(run);
    identify_process(run);
    spool_writer_publish(&recorder.spool);
    char complaint[1536];
    if (run->rank == 0 && settings_complaint(complaint, sizeof complaint))
        say_line("%s", complaint);
    if (readers_is_wrong() && run->rank == 0)
        fprintf(stderr, "mpistair: MPISTAIR_READERS must be owner, group or all, not '%s'; using owner\n",
                setting("MPISTAIR_READERS"));
    const char *wants_thread = setting("MPISTAIR_THREAD");
    if (wants_thread && strcmp(wants_thread, "0") == 0)
        supply_without_thread(&recorder.spool.supply);
    const char *detail = setting("MPISTAIR_DETAIL");
    if (detail && *detail && !recorder.sums && strcmp(detail, "full") != 0 && run->rank == 0)
        say_line("MPISTAIR_DETAIL must be full or none, not '%s'; recording all", detail);
    recorder.off = recorder.sums ? RECORDER_SUMS : 0;
    recorder.multiple = thread_level == 3;
    recorder.serialized = thread_level >= 2;
    datatype_init();
    struct recorder_thread *thread = recorder_thread_own();
    recorder.first_thread = thread;
    if (request_table_init() != 0 ||
        (world == MPI_GROUP_NULL ? communicator_init(thread, recorder.multiple)
                                 : communicator_init_session(thread, world, recorder.multiple)) != 0) {
        unlink(run->spool);
        spool_writer_close(&recorder.spool);
        recorder.spool.header = NULL;
        return ENOMEM;
    }
    modules_open(run);
    if (!recorder.sums)
        stack_open(run->rank);
    window_open(run->rank, thread);
    region_open(run->rank);
    return 0;
}

void process_spool_count(void)
{
    struct spool_header *header = recorder.spool.header;
    const uint64_t *so_far = *recorder.host->calls;
    _Static_assert(FN_COUNT <= sizeof header->calls / sizeof *header->calls, "the header counts all functions");
    for (uint32_t function = 0; function < FN_COUNT; function++)
        header->calls[function] = so_far[function];
    *recorder.host->calls = header->calls;
}

static struct counter_thread counter_thread;

/* Begins to count what the kernel tells, unless MPISTAIR_COUNTERS=no. */
static void begin_counters(struct spool_header *header)
{
    const char *counters = setting("MPISTAIR_COUNTERS"), *thread = setting("MPISTAIR_THREAD");
    int is_off = counters && (strcmp(counters, "no") == 0 || strcmp(counters, "0") == 0);
    if (is_off || counter_thread.counters)
        return;
    recorder.host->count_openmp(true);
    counter_thread_begin(&counter_thread, header, recorder.host->read_openmp, thread && strcmp(thread, "0") == 0);
}

/* Keeps where Slurm says that the node is in the network. A pattern, "switch.switch.node", tells how many components
 * are switches, as names of nodes may have dots. */
static void keep_address(struct spool_header *header)
{
    const char *address = getenv("SLURM_TOPOLOGY_ADDR"), *pattern = getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
    const char *counted = pattern && *pattern ? pattern : address;
    if (!address || strlen(address) >= sizeof header->address)
        return;
    header->n_switches = 0;
    for (const char *dot = counted; (dot = strchr(dot, '.')) != NULL; dot++)
        header->n_switches++;
    strcpy(header->address, address);
}

void process_spool_describe(const struct run *run, int thread_level, enum mpistair_function started_by)
{
    struct spool_header *header = recorder.spool.header;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    identify_process(run); /* MPI_Init may tell those who began alone more than they knew */
    header->thread_level = thread_level;
    header->started_by = (uint32_t)started_by;
    header->connected = (uint32_t)recorder.connected; /* a spawned process knows its parents already */
    PMPI(Get_library_version)(library, &length);
#ifdef MPISTAIR_STANDARD_ABI
    snprintf(header->library, sizeof header->library, "%.*s (standard ABI)", (int)strcspn(library, ",\r\n"), library);
#else
    snprintf(header->library, sizeof header->library, "%.511s", library);
#endif
    header->eager_limit_bytes = node_eager_limit_bytes(0);
    header->eager_limit_network_bytes = run->n_leaders > 1 ? node_eager_limit_bytes(1) : 0;
    keep_path(header->topology, run->topology);
    keep_path(header->maps, run->maps);
    keep_address(header);
    header->launched = run->launched;
    header->apart = (uint32_t)run->apart;
    if (header->use_init.at_ns == 0) /* it was not described before: MPI_Init came behind MPI_Session_init */
        header->use_init = node_processor_use();
    header->processor = (uint32_t)(ask_processor() + 1);
    begin_counters(header);
}

/* The run begins with burst -1, so that burst 0, which stays at each level, begins within the run. Otherwise the burst
 * that stays could be one whose beginning, all that a cut leaves, lies before the run. */
void process_spool_set_bursts(const struct run *run, int64_t root_ahead_ns, int64_t began_ns)
{
    struct spool_header *header = recorder.spool.header;
    int is_known = root_ahead_ns != NODE_CLOCK_UNKNOWN, is_one_node = run->node_ranks == run->size;
    int64_t origin_ns = began_ns != 0 ? began_ns + SPOOL_BURST_NS : 0;
    int64_t offset_ns = is_known      ? root_ahead_ns - origin_ns
                        : is_one_node ? 0
                                      : (int64_t)(header->started_unix_ns - header->start.monotonic_ns);
    header->burst_clock = is_known ? SPOOL_BURST_RANK_0 : is_one_node ? SPOOL_BURST_OWN : SPOOL_BURST_REALTIME;
    __atomic_store_n(&header->burst_offset_ns, offset_ns, __ATOMIC_RELAXED);
}

void process_spool_note_end(struct run *run, enum spool_end end)
{
    struct spool_header *header = recorder.spool.header;
    header->finish = spool_clock_pair(recorder.clock_source);
    __atomic_store_n(&header->end, end, __ATOMIC_RELEASE); /* this must not wait: the launcher may be killing this
                                                            * process */
    header->use_finalize = node_processor_use();
    if (modules_close(run) == 0)
        keep_path(header->maps, run->maps);
}

static void marker_path(char path[PATH_MAX], const struct run *run)
{
    snprintf(path, PATH_MAX, "%.3000s/%s.run", run->folder, run->facts.key);
}

static int write_hosts(int fd, const void *text)
{
    size_t length = strlen(text);
    return write(fd, text, length) == (ssize_t)length ? 0 : -1;
}

void process_spool_set_marker(struct run *run)
{
    char path[PATH_MAX];
    marker_path(path, run);
    folder_write(run, path, write_hosts, run->hosts ? run->hosts : "");
    free(run->hosts);
    run->hosts = NULL;
}

int process_spool_sees_marker(const struct run *run)
{
    char path[PATH_MAX];
    marker_path(path, run);
    return access(path, F_OK) == 0;
}

uint64_t process_spool_close(struct run *run)
{
    region_end_recording();
    process_spool_note_end(run, SPOOL_END_FINALIZE);
    recorder.host->count_openmp(false);
    counter_thread_end(&counter_thread);
    uint64_t bytes = spool_writer_close(&recorder.spool);
    /* A process that began alone knows the others' output only if the environment gives it to all. */
    int has_place = !run->alone || setting("MPISTAIR_OUTPUT");
    if (has_place && run->host_key != run->facts.host_key && !process_spool_sees_marker(run) && run_collect(run) == 0) {
        run->is_copied = 1;
        unlink(run->spool);
        unlink(run->maps);
    }
    return bytes;
}

/* All processes' losses are added up on rank 0, so that a job of many processes reports them once. A job that does not
 * reach MPI_Finalize reports nothing: its spools have the counts. */

/* What processes add up: records by cause, all of them, processes that lost any, and records that were refused, by the
 * error. */
enum {
    N_ERRORS = 256, /* errno values of Linux lie below; 0: not known */
    RECORDS = SPOOL_LOSS_COUNT,
    PROCESSES,
    BY_ERROR,
    N_COUNTS = BY_ERROR + N_ERRORS
};

/* Appends to text what fits. */
static void append(char *text, size_t size, const char *what, uint64_t n)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s (%" PRIu64 ")", used > 0 ? ", " : "", what, n);
}

/* Appends the records that are lost as the system refused room, by the error: by_error[N_ERRORS]. */
static void append_refused(char *text, size_t size, const uint64_t *by_error)
{
    for (uint32_t error = 0; error < N_ERRORS; error++) {
        char name[16], what[160];
        if (by_error[error] == 0)
            continue;
        error_name(name, sizeof name, error);
        snprintf(what, sizeof what, "the system refused room for the spools with %s, %s", name, strerror((int)error));
        append(text, size, error > 0 ? what : "the system refused room for the spools", by_error[error]);
    }
    if (by_error[EPERM] > 0)
        snprintf(text + strlen(text), size - strlen(text), " (MPISTAIR_PREALLOCATE takes all room in MPI_Init)");
}

void process_spool_tell_losses(const struct run *run, const struct spool_header *header)
{
    static const char *const causes[SPOOL_LOSS_COUNT] = {
        [SPOOL_LOSS_DISK] = "the disk of the spools is full",
        [SPOOL_LOSS_LIMIT] = "MPISTAIR_SPOOL_LIMIT is reached",
        [SPOOL_LOSS_MEMORY] = "no memory",
        [SPOOL_LOSS_CLOSED] = "descriptor closed by the program",
        [SPOOL_LOSS_FILE_SIZE] = "RLIMIT_FSIZE (ulimit -f) is reached",
        [SPOOL_LOSS_ADDRESS_SPACE] = "RLIMIT_AS (ulimit -v) is reached",
    };
    uint64_t mine[N_COUNTS] = {0}, all[N_COUNTS] = {0};
    for (int cause = 0; header && cause < SPOOL_LOSS_COUNT; cause++) {
        mine[cause] = __atomic_load_n(&header->lost[cause], __ATOMIC_RELAXED);
        mine[RECORDS] += mine[cause];
    }
    mine[PROCESSES] = mine[RECORDS] > 0;
    if (mine[SPOOL_LOSS_REFUSED] > 0)
        mine[BY_ERROR + (header->refused_error < N_ERRORS ? header->refused_error : 0)] = mine[SPOOL_LOSS_REFUSED];
    if (PMPI(Reduce)(mine, all, N_COUNTS, MPI_UINT64_T, MPI_SUM, 0, run_comm) != MPI_SUCCESS || run->rank != 0 ||
        all[RECORDS] == 0)
        return;
    char text[1024] = "";
    for (int cause = 0; cause < SPOOL_LOSS_COUNT; cause++)
        if (all[cause] > 0 && cause != SPOOL_LOSS_REFUSED)
            append(text, sizeof text, causes[cause] ? causes[cause] : "other", all[cause]);
    append_refused(text, sizeof text, all + BY_ERROR);
    say_line("%" PRIu64 " records of %" PRIu64 " of %d processes are lost: %s; spools in %s", all[RECORDS],
             all[PROCESSES], run->size, text, run->folder);
}
