/* Launchers say in different ways which processes belong together (see launcher_environment.h):
 *
 *   hydra (MPICH, Intel MPI)   Each node's hydra_pmi_proxy has --control-port HOST:PORT of its launcher, the same for
 *                              all proxies of one MPI_COMM_WORLD; mpiexec is the proxy's parent on its own node.
 *   PMIx (Open MPI, PRRTE)     PMIX_NAMESPACE is the world's. Open MPI 4's is a number whose upper 16 bits name the
 *                              mpiexec; PRRTE's is NAME@NUMBER.
 *   Slurm without either       The job step names the world.
 *
 * These were seen with MPICH 4.0.2 and 4.2.1, Open MPI 4.1.4 and 5.0.7. */
#include "interpose/backend/run/launcher_environment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/spool/clock.h"

/* Files of /proc have no size, so they are read until they end. */
#define MOST_BYTES     ((size_t)4 << 20) /* more than an environment has */
#define MOST_ANCESTORS 16

/* Returns all of /proc/PID/NAME as text[*length] with a NUL behind it, which the caller frees; NULL where it cannot be
 * read. */
static char *proc_read(long pid, const char *name, size_t *length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t room = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    *length = 0;
    while (got > 0 && *length < MOST_BYTES) {
        if (room - *length < 4096) {
            char *wider = realloc(text, room + 65536);
            if (!wider)
                break;
            text = wider;
            room += 65536;
        }
        got = read(fd, text + *length, room - *length - 1);
        *length += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    if (!text || got != 0) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

/* Reads numbers 4 and 22 of /proc/PID/stat; they become 0 where they cannot be read. */
static void read_stat(long pid, long *parent, unsigned long long *start_ticks)
{
    size_t length;
    char *stat = proc_read(pid, "stat", &length);
    char *behind_name = stat ? strrchr(stat, ')') : NULL;
    if (!behind_name ||
        sscanf(behind_name + 1, " %*c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               parent, start_ticks) != 2) {
        *parent = 0;
        *start_ticks = 0;
    }
    free(stat);
}

static long parent_of(long pid)
{
    unsigned long long start_ticks;
    long parent;
    read_stat(pid, &parent, &start_ticks);
    return parent;
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : "";
}

/* Copies the argument behind `option` of a process's command line into value. Returns 0 or -1. */
static int argument_of(long pid, const char *option, char *value, size_t size)
{
    size_t length;
    char *arguments = proc_read(pid, "cmdline", &length);
    int result = -1;
    for (const char *text = arguments; result != 0 && text && text < arguments + length; text += strlen(text) + 1) {
        const char *following = text + strlen(text) + 1;
        if (strcmp(text, option) == 0 && following < arguments + length) {
            snprintf(value, size, "%s", following);
            result = 0;
        }
    }
    free(arguments);
    return result;
}

/* Returns the nearest ancestor whose name begins with one of names[n], and which; 0 if there is none. A debugger or
 * shell may be between. */
static long find_ancestor(const char *const names[], size_t n, size_t *which)
{
    long pid = getppid();
    for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++, pid = parent_of(pid)) {
        size_t length, found = 0;
        char *name = proc_read(pid, "comm", &length);
        while (name && found < n && strncmp(name, names[found], strlen(names[found])) != 0)
            found++;
        int is_found = name && found < n;
        free(name);
        *which = found;
        if (is_found)
            return pid;
    }
    return 0;
}

/* Returns the launcher's own process on this node, the same for all processes of the node; 0 if there is none. */
static long find_proxy(void)
{
    static const char *const names[] = {"hydra_pmi_proxy", "slurmstepd", "orted",   "prted",
                                        "prterun",         "mpirun",     "mpiexec", "orterun"};
    size_t which;
    return find_ancestor(names, sizeof names / sizeof *names, &which);
}

uint64_t launcher_start(void)
{
    long proxy = find_proxy(), parent;
    unsigned long long start_ticks;
    if (!proxy)
        return 0;
    read_stat(proxy, &parent, &start_ticks);
    /* In a time namespace /proc counts from another moment, by nanoseconds, and tells ticks: so whole seconds here. */
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    int64_t start_ns = (int64_t)start_ticks * tick_ns - spool_clock_namespace().boottime_ns;
    return (uint64_t)proxy << 40 ^ (uint64_t)(start_ns / 1000000000);
}

static int is_hydra(void)
{
    return environment("PMI_RANK")[0] && environment("PMI_FD")[0];
}

void launcher_name(char *name, size_t size)
{
    const char *space = environment("PMIX_NAMESPACE");
    name[0] = '\0';
    if (space[0]) {
        char *end;
        unsigned long number = strtoul(space, &end, 10);
        if (*end == '\0')
            snprintf(name, size, "pmix-%lu", number >> 16);
        else
            snprintf(name, size, "pmix-%.*s", (int)strcspn(space, "@"), space);
    } else if (is_hydra()) {
        long proxy = find_proxy(), launcher = proxy ? parent_of(proxy) : 0;
        size_t length;
        char *comm = launcher > 1 ? proc_read(launcher, "comm", &length) : NULL;
        if (comm && strncmp(comm, "mpiexec", 7) == 0)
            snprintf(name, size, "hydra-%ld", launcher);
        free(comm);
    } else if (environment("SLURM_JOB_ID")[0] && environment("SLURM_PROCID")[0]) {
        snprintf(name, size, "slurm-%s", environment("SLURM_JOB_ID"));
    }
}

int launcher_world(char *name, size_t size)
{
    const char *space = environment("PMIX_NAMESPACE");
    char port[128];
    name[0] = '\0';
    if (space[0])
        snprintf(name, size, "pmix-%s", space);
    else if (is_hydra() && argument_of(find_proxy(), "--control-port", port, sizeof port) == 0)
        snprintf(name, size, "hydra-%s", port);
    else if (environment("SLURM_STEP_ID")[0] && environment("SLURM_PROCID")[0])
        snprintf(name, size, "slurm-%s.%s", environment("SLURM_JOB_ID"), environment("SLURM_STEP_ID"));
    return name[0] ? 0 : -1;
}

int launcher_parent(char *name, size_t size, int *root)
{
    unsigned long world;
    name[0] = '\0';
    *root = -1;
    /* Open MPI writes WORLD.RANK:TAG. The world is the namespace of Open MPI 4. Since 5, its upper 16 bits come from
     * the name in NAME@NUMBER, which is also ours, and the lower ones are the number. */
    if (sscanf(environment("OMPI_PARENT_PORT"), "%lu.%d:", &world, root) != 2)
        return -1;
    const char *space = environment("PMIX_NAMESPACE"), *at = strrchr(space, '@');
    if (at)
        snprintf(name, size, "pmix-%.*s@%lu", (int)(at - space), space, world & 0xffff);
    else
        snprintf(name, size, "pmix-%lu", world);
    return 0;
}

static int number_in(const char *const names[], size_t n, int otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (environment(names[i])[0])
            return atoi(environment(names[i]));
    return otherwise;
}

int launcher_size(int *rank)
{
    static const char *const names[][2] = {{"PMI_SIZE", "PMI_RANK"},
                                           {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
    int size = 0;
    *rank = -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int said = atoi(environment(names[i][0]));
        if (said > 0 && (size == 0 || said == 1)) {
            size = said;
            *rank = atoi(environment(names[i][1]));
        }
    }
    return size;
}

int launcher_local_rank(void)
{
    static const char *const names[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};
    return number_in(names, sizeof names / sizeof *names, -1);
}

int launcher_local_size(void)
{
    static const char *const names[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"};
    return number_in(names, sizeof names / sizeof *names, 0);
}

#if defined OPEN_MPI || defined MPISTAIR_STANDARD_ABI /* whose MPI may be Open MPI */

/* A process beside the launcher is its child, perhaps through a shell; one on another node is a child of a daemon. The
 * launcher's arguments and environment show what it passes on. A process whose launcher cannot be read counts as
 * preloaded. */

/* Returns whether a string of the NUL-separated list begins with `begin` and contains `part`. */
static int list_has(const char *list, size_t length, const char *begin, const char *part)
{
    for (const char *text = list; text && text < list + length; text += strlen(text) + 1)
        if (strncmp(text, begin, strlen(begin)) == 0 && strstr(text, part))
            return 1;
    return 0;
}

/* Returns the launcher; 0 if there is none among the ancestors, or a daemon comes first. */
static long find_launcher(void)
{
    enum { DAEMONS = 2 };
    static const char *const names[] = {"orted", "prted", "mpiexec", "mpirun", "orterun", "prterun"};
    size_t which;
    long pid = find_ancestor(names, sizeof names / sizeof *names, &which);
    return pid && which >= DAEMONS ? pid : 0;
}

/* Reads the variables that Open MPI's parameter files or environment tell it to hand on; "" where there is none. */
static void read_handed_on(char *value, size_t size)
{
    int level = MPI_THREAD_SINGLE, index, count = 0;
    MPI_T_cvar_handle handle;
    value[0] = '\0';
    PMPI(Query_thread)(&level); /* T_init_thread would change the level, see node.c */
    if (PMPI(T_init_thread)(level, &level) != MPI_SUCCESS)
        return;
    if (PMPI(T_cvar_get_index)("mca_base_env_list", &index) == MPI_SUCCESS &&
        PMPI(T_cvar_handle_alloc)(index, NULL, &handle, &count) == MPI_SUCCESS) {
        if ((size_t)count < size && PMPI(T_cvar_read)(handle, value) != MPI_SUCCESS)
            value[0] = '\0';
        PMPI(T_cvar_handle_free)(&handle);
    }
    PMPI(T_finalize)();
}

static int is_managed(void)
{
    /* The daemons of these managers start with the launcher's environment. */
    static const char *const managers[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"};
    for (size_t i = 0; i < sizeof managers / sizeof *managers; i++)
        if (getenv(managers[i]))
            return 1;
    return 0;
}

int launcher_preloads_this_node_only(void)
{
    const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!all || !here || strcmp(all, here) == 0 || is_managed())
        return 0;
    long launcher = find_launcher();
    size_t n_environment = 0, n_arguments = 0;
    char *environment = launcher ? proc_read(launcher, "environ", &n_environment) : NULL;
    char *arguments = launcher ? proc_read(launcher, "cmdline", &n_arguments) : NULL;
    char handed_on[4096];
    int here_only = 0;
    if (environment && arguments && list_has(environment, n_environment, "LD_PRELOAD=", "libmpistair")) {
        read_handed_on(handed_on, sizeof handed_on);
        here_only = !strstr(handed_on, "LD_PRELOAD") && !list_has(arguments, n_arguments, "", "LD_PRELOAD") &&
                    !list_has(environment, n_environment, "OMPI_MCA_mca_base_env_list=", "LD_PRELOAD");
    }
    free(environment);
    free(arguments);
    return here_only;
}

#else

int launcher_preloads_this_node_only(void)
{
    return 0; /* hydra hands the environment on */
}

#endif
