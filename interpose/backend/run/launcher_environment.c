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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/backend/run/proc.h"
#include "interpose/spool/clock.h"

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

#define MOST_ANCESTORS 8

/* Finds the launcher's own process among the ancestors, the same for all processes of this node (a debugger or shell
 * may be between). Returns 0 if there is none. */
static long find_proxy(void)
{
    static const char *const names[] = {"hydra_pmi_proxy", "slurmstepd", "orted",   "prted",
                                        "prterun",         "mpirun",     "mpiexec", "orterun"};
    long pid = getppid();
    for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++, pid = proc_parent(pid)) {
        size_t length;
        char *name = proc_read(pid, "comm", &length);
        int is_proxy = 0;
        for (size_t k = 0; name && k < sizeof names / sizeof *names; k++)
            is_proxy |= strncmp(name, names[k], strlen(names[k])) == 0;
        free(name);
        if (is_proxy)
            return pid;
    }
    return 0;
}

uint64_t launcher_start(void)
{
    long proxy = find_proxy();
    if (!proxy)
        return 0;
    /* In a time namespace /proc counts from another moment, by nanoseconds, and tells ticks: so whole seconds here. */
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    int64_t start_ns = (int64_t)proc_start_ticks(proxy) * tick_ns - spool_clock_namespace().boottime_ns;
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
        long proxy = find_proxy(), launcher = proxy ? proc_parent(proxy) : 0;
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

static int number_of(const char *const names[], size_t n, int otherwise)
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
    return number_of(names, sizeof names / sizeof *names, -1);
}

int launcher_local_size(void)
{
    static const char *const names[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"};
    return number_of(names, sizeof names / sizeof *names, 0);
}
