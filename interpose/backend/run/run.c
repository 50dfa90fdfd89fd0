/* All processes must use the same names and folders, although each has its own environment and disk: rank 0 decides,
 * and those who cannot be asked follow from the launcher. See run.h. */
#include "interpose/backend/run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/run/comm.h"
#include "share/base/hash.h"
#include "share/base/order.h"
#include "interpose/backend/run/launcher_environment.h"
#include "share/base/settings.h"

MPI_Comm run_comm;

#define DEFAULT_LIMIT_BYTES (UINT64_C(1) << 30)

/* Identifies the running kernel; returns 0 where that is not known. */
static uint64_t kernel_key(void)
{
    char boot[64];
    return spool_read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot) > 0 ? hash_text(HASH_BASIS, boot) : 0;
}

/* Makes path absolute with the folder in which the job began. */
static void absolute(char out[PATH_MAX], const struct run *run, const char *path)
{
    if (path[0] == '/' || !run->started_in[0])
        snprintf(out, PATH_MAX, "%.*s", PATH_MAX - 1, path);
    else
        snprintf(out, PATH_MAX, "%.*s/%.*s", PATH_MAX / 2, run->started_in, PATH_MAX / 2 - 2, path);
}

static const char *variable_of(const char *name)
{
    const char *value = setting(name);
    return value && value[0] ? value : NULL;
}

void run_read_environment(struct run *run, const char *started_in)
{
    const char *output = variable_of("MPISTAIR_OUTPUT"), *folder = variable_of("MPISTAIR_SPOOL");
    const char *temporary = variable_of("TMPDIR");
    char name[160];
    snprintf(run->started_in, sizeof run->started_in, "%s", started_in ? started_in : "");
    launcher_name(run->launch, sizeof run->launch);
    run->launched = launcher_size(&run->launched_as); /* a call of MPI_Init by a process alone may change the
                                                       * environment */
    run->names_output = !output;
    if (!output) {
        const char *job = variable_of("SLURM_JOB_ID");
        job = job ? job : variable_of("PBS_JOBID");
        job = job ? job : variable_of("LSB_JOBID");
        job = job ? job : variable_of("JOB_ID");
        if (job)
            snprintf(name, sizeof name, "mpistair-%.100s.db", job);
        else
            snprintf(name, sizeof name, "mpistair-%ld.db", (long)getpid());
        output = name;
    }
    absolute(run->facts.output, run, output);
    absolute(run->temporary, run, temporary ? temporary : "/tmp");
    if (folder)
        absolute(run->folder, run, folder);
    if (gethostname(run->host, sizeof run->host) != 0)
        snprintf(run->host, sizeof run->host, "unknown");
    run->host[sizeof run->host - 1] = '\0';
    run->kernel_key = kernel_key();
    /* Containers share the kernel, cloned machines the name: both together tell a node. */
    run->host_key = hash_text(HASH_BASIS ^ run->kernel_key, run->host);
}

/* Reads a number with the suffix K, M or G or none. Returns 0, or -1. */
static int parse_bytes(const char *text, uint64_t *bytes)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10), factor = 1;
    const char *suffix = *end ? strchr(suffixes, *end & ~0x20) : NULL;
    if (text[0] < '0' || text[0] > '9' || errno != 0 || (*end && (!suffix || !*suffix || end[1])))
        return -1;
    if (suffix)
        factor = UINT64_C(1) << (10 * (suffix - suffixes + 1));
    return __builtin_mul_overflow(number, factor, bytes) ? -1 : 0;
}

/* Returns what a variable gives as bytes of a node, for each of its processes. Rank 0 tells of one that is not
 * understood, with what is used then. */
static uint64_t bytes_of_process(const struct run *run, const char *name, uint64_t otherwise, const char *told)
{
    const char *text = variable_of(name);
    uint64_t bytes = otherwise;
    if (text && parse_bytes(text, &bytes) != 0) {
        bytes = otherwise;
        if (run->rank == 0)
            fprintf(stderr, "mpistair: %s must be a number of bytes (with K, M or G), not '%s'; using %s\n", name, text,
                    told);
    }
    return bytes / (uint64_t)(run->node_ranks > 0 ? run->node_ranks : 1);
}

uint64_t run_spool_limit_bytes(const struct run *run)
{
    return bytes_of_process(run, "MPISTAIR_SPOOL_LIMIT", DEFAULT_LIMIT_BYTES, "1G");
}

uint64_t run_preallocate_bytes(const struct run *run)
{
    return bytes_of_process(run, "MPISTAIR_PREALLOCATE", 0, "none");
}

struct host_rank {
    uint64_t host_key;
    int rank;
};

static int by_host_and_rank(const void *left, const void *right)
{
    const struct host_rank *a = left, *b = right;
    return ORDER(a->host_key, b->host_key) ?: ORDER(a->rank, b->rank);
}

static int by_rank(const void *left, const void *right)
{
    int a = *(const int *)left, b = *(const int *)right;
    return ORDER(a, b);
}

/* Finds the leaders of all nodes from the hosts of all ranks. */
static void find_leaders(struct run *run, const uint64_t *keys, struct host_rank *hosts)
{
    for (int rank = 0; rank < run->size; rank++)
        hosts[rank] = (struct host_rank){keys[rank], rank};
    qsort(hosts, (size_t)run->size, sizeof *hosts, by_host_and_rank);
    run->n_leaders = 0;
    run->node_ranks = 0;
    for (int i = 0; i < run->size; i++) {
        if (i == 0 || hosts[i].host_key != hosts[i - 1].host_key)
            run->leaders[run->n_leaders++] = hosts[i].rank;
        if (hosts[i].host_key == run->host_key) {
            if (run->node_ranks++ == 0)
                run->node_leader = hosts[i].rank;
        }
    }
    qsort(run->leaders, (size_t)run->n_leaders, sizeof *run->leaders, by_rank);
}

/* Sets run->facts.folder: where this process's spool goes. */
static void name_folder(struct run *run)
{
    if (run->folder[0])
        memcpy(run->facts.folder, run->folder, sizeof run->facts.folder);
    else
        run_name_own_folder(run->facts.folder, run, 0);
}

/* Returns a random number that cannot be guessed, or the time where the kernel has no randomness yet. */
static uint64_t chance(uint64_t now_ns)
{
    uint64_t number;
    return getrandom(&number, sizeof number, GRND_NONBLOCK) == (ssize_t)sizeof number ? number : now_ns;
}

/* Decides about the run, on rank 0. */
static void decide(struct run *run)
{
    struct timespec now;
    char host[20];
    size_t length = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    run->facts.started_unix_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    for (const char *c = run->host; *c && length + 1 < sizeof host; c++) {
        int plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '.';
        host[length++] = plain ? *c : '_';
    }
    host[length] = '\0';
    snprintf(run->facts.key, sizeof run->facts.key, "%s-%ld-%016" PRIx64, host, (long)getpid(),
             chance(run->facts.started_unix_ns));
    run->facts.host_key = run->host_key;
    name_folder(run);
}

int run_name_alone(struct run *run)
{
    char world[256], start[24] = "";
    const char *given = variable_of("MPISTAIR_KEY");
    if (run->size == 1) {
        decide(run);
    } else if (launcher_world(world, sizeof world) == 0 || given) {
        /* A launcher may give a later job the same name. On one node all processes see when this one began; processes
         * on several nodes have that only in the names of their folders. */
        run->alone_start = launcher_start();
        if (launcher_local_size() == run->size)
            snprintf(start, sizeof start, "%" PRIx64, run->alone_start);
        uint64_t hash = hash_text(hash_text(hash_text(HASH_BASIS, world), given ? given : ""), start);
        snprintf(run->facts.key, sizeof run->facts.key, "sessions-%016" PRIx64, hash);
        name_folder(run);
    } else {
        return -1;
    }
    run->node_leader = launcher_local_rank() == 0 ? run->rank : -1;
    run->node_ranks = launcher_local_size();
    return 0;
}

#define TAG_HOST 3 /* beside those of node.c */

/* Gives rank 0 the names of all nodes and their numbers of ranks, so that it can be told later of which node something
 * is not there. */
static void gather_hosts(struct run *run)
{
    struct {
        char name[sizeof run->host];
        int32_t ranks;
    } own;
    size_t room = sizeof own.name + 32, at = 0, size = (size_t)run->n_leaders * room;
    memcpy(own.name, run->host, sizeof own.name);
    own.ranks = run->node_ranks;
    if (run->rank != 0 && run->rank == run->node_leader)
        PMPI(Send)(&own, (int)sizeof own, MPI_BYTE, 0, TAG_HOST, run_comm);
    if (run->rank != 0)
        return;
    run->hosts = malloc(size);
    for (int i = 0; i < run->n_leaders; i++) {
        if (run->leaders[i] != 0 && PMPI(Recv)(&own, (int)sizeof own, MPI_BYTE, run->leaders[i], TAG_HOST, run_comm,
                                               MPI_STATUS_IGNORE) != MPI_SUCCESS)
            continue;
        own.name[sizeof own.name - 1] = '\0';
        if (run->hosts)
            at += (size_t)snprintf(run->hosts + at, size - at, "%d %d %s\n", run->leaders[i], own.ranks, own.name);
    }
}

int run_agree(struct run *run)
{
    size_t n = (size_t)run->size;
    uint64_t *keys = malloc(n * sizeof *keys);
    struct host_rank *hosts = malloc(n * sizeof *hosts);
    run->leaders = malloc(n * sizeof *run->leaders);
    /* memory was found; no process has begun alone */
    int mine[2] = {keys && hosts && run->leaders, !run->alone}, all[2] = {0, 0}, result = -1;
    PMPI(Allreduce)(mine, all, 2, MPI_INT, MPI_MIN, run_comm);
    if (!all[1] && !run->alone && run_name_alone(run) != 0)
        all[0] = 0; /* does not happen, as the others' name comes from the same facts */
    if (run->rank == 0 && all[1])
        decide(run);
    else if (run->rank == 0)
        run->facts.host_key = run->host_key;
    if (all[0] && PMPI(Bcast)(&run->facts, (int)sizeof run->facts, MPI_BYTE, 0, run_comm) == MPI_SUCCESS &&
        PMPI(Allgather)(&run->host_key, 8, MPI_BYTE, keys, 8, MPI_BYTE, run_comm) == MPI_SUCCESS) {
        find_leaders(run, keys, hosts);
        gather_hosts(run);
        result = 0;
    }
    free(keys);
    free(hosts);
    return result;
}
