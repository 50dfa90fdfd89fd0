/* Looks at what the launcher was given, which says what it hands on (see reach.h). A process beside the launcher is its
 * child, perhaps through a shell; one on another node is a child of a daemon. Everything that cannot be read counts as
 * reached. */
#include "interpose/backend/run/reach.h"

#include "interpose/backend/run/proc.h"
#include "interpose/backend/recorder/state.h"

#if defined OPEN_MPI || defined MPISTAIR_STANDARD_ABI /* whose MPI may be Open MPI */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_ANCESTORS 16

/* Says whether a string of the NUL-separated list begins with `begin` and contains `part`. */
static int list_has(const char *list, size_t length, const char *begin, const char *part)
{
    for (const char *text = list; text && text < list + length; text += strlen(text) + 1)
        if (strncmp(text, begin, strlen(begin)) == 0 && strstr(text, part))
            return 1;
    return 0;
}

/* Finds the launcher among the ancestors; 0 if there is none, or a daemon comes first. */
static long find_launcher(void)
{
    static const char *const launchers[] = {"mpiexec", "mpirun", "orterun", "prterun"};
    long pid = getppid();
    for (int i = 0; i < MOST_ANCESTORS && pid > 1; i++, pid = proc_parent(pid)) {
        size_t length;
        char *name = proc_read(pid, "comm", &length);
        int is_launcher = 0, is_daemon = !name || strncmp(name, "orted", 5) == 0 || strncmp(name, "prted", 5) == 0;
        for (size_t k = 0; name && k < sizeof launchers / sizeof *launchers; k++)
            is_launcher |= strncmp(name, launchers[k], strlen(launchers[k])) == 0;
        free(name);
        if (is_launcher || is_daemon)
            return is_launcher ? pid : 0;
    }
    return 0;
}

/* Reads the variables that Open MPI's parameter files or environment tell it to hand on; "" where there is none. */
static void read_handed_on(char *value, size_t size)
{
    int level = MPI_THREAD_SINGLE, index, count = 0;
    MPI_T_cvar_handle handle;
    value[0] = '\0';
    PMPI(Query_thread)(&level); /* T_init_thread would change the level, see eager_limit.c */
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

int reach_is_this_node_only(void)
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

int reach_is_this_node_only(void)
{
    return 0; /* hydra hands the environment on */
}

#endif
