#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "installation.h"

#define POLL_S     0.05
#define IDENTIFY_S 20.0
#define GRACE_S    5.0

/* What launchers print for --version. MPICH's family shares hydra. */
static const struct {
    const char *word;
    const char *mpi;
} words[] = {
    {"Open MPI", "openmpi"}, {"OpenRTE", "openmpi"}, {"PRRTE", "openmpi"},      {"PRTE", "openmpi"},
    {"HYDRA", "mpich"},      {"MPICH", "mpich"},     {"Intel(R) MPI", "mpich"}, {"MVAPICH", "mpich"},
};
static const char *const mpis[] = {"openmpi", "mpich"};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void progress_show(const char *progress, double begin_s, double limit_s)
{
    if (progress != NULL && now_s() - begin_s > 2)
        fprintf(stderr, "\rcalibrating: %s, %.0f s of at most %.0f ", progress, now_s() - begin_s, limit_s);
}

/* Waits for a child, ends it after limit_s. 0 and its status, or -1 where it had to be ended. */
static int wait_for(pid_t child, double limit_s, const char *progress, int *status)
{
    double begin_s = now_s();
    const struct timespec poll = {.tv_nsec = (long)(POLL_S * 1e9)};
    bool terminated = false, shown = isatty(STDERR_FILENO) == 1;
    while (waitpid(child, status, WNOHANG) == 0) {
        double elapsed_s = now_s() - begin_s;
        if (elapsed_s > limit_s + GRACE_S) {
            kill(child, SIGKILL);
            waitpid(child, status, 0);
            return -1;
        }
        if (elapsed_s > limit_s && !terminated) {
            kill(child, SIGTERM);
            terminated = true;
        }
        if (shown)
            progress_show(progress, begin_s, limit_s);
        nanosleep(&poll, NULL);
    }
    if (shown && progress != NULL)
        fprintf(stderr, "\r%60s\r", "");
    return terminated ? -1 : 0;
}

/* Starts argv with its streams; the recorder stays out of it, and it ends with us. Returns -1 with errno. */
static pid_t start(char *const *argv, int out, int err)
{
    int failed[2];
    if (pipe2(failed, O_CLOEXEC) != 0)
        return -1;
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        int null = open("/dev/null", O_RDONLY);
        if (getppid() == parent && null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
            dup2(err, STDERR_FILENO) >= 0 && setenv("MPISTAIR_DISABLE", "1", 1) == 0)
            execvp(argv[0], argv);
        int reason = errno;
        (void)!write(failed[1], &reason, sizeof reason);
        _exit(127);
    }
    close(failed[1]);
    int reason = 0;
    ssize_t got = child > 0 ? read(failed[0], &reason, sizeof reason) : 0;
    close(failed[0]);
    if (got <= 0)
        return child;
    waitpid(child, NULL, 0);
    errno = reason;
    return -1;
}

/* Runs argv to its end; launch is set in any case where 0 is returned, whatever the status says. */
static int run(char *const *argv, double limit_s, const char *progress, struct launch *launch, int *status,
               struct error *error)
{
    *launch = (struct launch){.out = tmpfile(), .err = tmpfile()};
    int result = 0;
    if (launch->out == NULL || launch->err == NULL) {
        result = error_set(error, "no temporary file: %s", strerror(errno));
    } else {
        pid_t child = start(argv, fileno(launch->out), fileno(launch->err));
        if (child < 0)
            result = error_set(error, "%s: cannot be started: %s", argv[0], strerror(errno));
        else if (wait_for(child, limit_s, progress, status) != 0)
            result = error_set(error, "%s: not done after %.0f s, ended", argv[0], limit_s);
    }
    if (result != 0) {
        if (launch->err != NULL)
            launch_echo(launch);
        launch_release(launch);
        return -1;
    }
    rewind(launch->out);
    rewind(launch->err);
    return 0;
}

int launcher_run(const struct launcher *launcher, const char *program, char *const *arguments, double limit_s,
                 const char *progress, struct launch *launch, struct error *error)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "%s-%s", program, launcher->mpi);
    if (installation_find(INSTALLATION_PROGRAM, name, path, sizeof path, error) != 0)
        return -1;
    size_t n_arguments = 0;
    while (arguments[n_arguments] != NULL)
        n_arguments++;
    size_t n_words = (size_t)launcher->n_words;
    char **argv = calloc(n_words + n_arguments + 2, sizeof *argv);
    if (argv == NULL)
        return error_set(error, "no memory");
    memcpy(argv, launcher->words, n_words * sizeof *argv);
    argv[n_words] = path;
    memcpy(argv + n_words + 1, arguments, n_arguments * sizeof *argv);
    int status = 0, result = run(argv, limit_s, progress, launch, &status, error);
    free(argv);
    if (result == 0 && status != 0) {
        launch_echo(launch);
        launch_release(launch);
        if (WIFSIGNALED(status))
            return error_set(error, "%s under %s: ended by signal %d (%s)", name, launcher->words[0], WTERMSIG(status),
                             strsignal(WTERMSIG(status)));
        return error_set(error, "%s under %s: failed with exit status %d; what it said is above", name,
                         launcher->words[0], WEXITSTATUS(status));
    }
    return result;
}

void launch_release(struct launch *launch)
{
    if (launch->out != NULL)
        fclose(launch->out);
    if (launch->err != NULL)
        fclose(launch->err);
    *launch = (struct launch){0};
}

void launch_echo(struct launch *launch)
{
    char *line = NULL;
    size_t size = 0;
    rewind(launch->err);
    while (getline(&line, &size, launch->err) > 0)
        if (strncmp(line, LAUNCH_NOTE, sizeof LAUNCH_NOTE - 1) != 0)
            fputs(line, stderr);
    free(line);
    rewind(launch->err);
}

/* The MPI whose word comes first in what the launcher prints for --version; NULL: none does. */
static const char *mpi_by_version(FILE *stream)
{
    char *line = NULL;
    const char *found = NULL;
    size_t size = 0;
    while (found == NULL && getline(&line, &size, stream) > 0)
        for (size_t i = 0; i < sizeof words / sizeof words[0] && found == NULL; i++)
            if (strstr(line, words[i].word) != NULL)
                found = words[i].mpi;
    free(line);
    return found;
}

/* Under a launcher of another MPI every process believes that it is alone: each tells of one rank. */
static bool runs_together(struct launch *launch)
{
    char *line = NULL;
    size_t size = 0, n_told = 0;
    int ranks = 0;
    while (getline(&line, &size, launch->err) > 0)
        n_told += sscanf(line, LAUNCH_NOTE "ranks %d", &ranks) == 1;
    free(line);
    return n_told == 1 && ranks > 1;
}

static bool is_built(const char *mpi)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, "pingpong-%s", mpi);
    return installation_find(INSTALLATION_PROGRAM, name, path, sizeof path, NULL) == 0;
}

int launcher_identify(struct launcher *launcher, struct error *error)
{
    char *version[] = {launcher->words[0], "--version", NULL};
    char *hello[] = {"--hello", NULL};
    struct launch launch;
    int status;
    if (run(version, IDENTIFY_S, NULL, &launch, &status, error) != 0)
        return -1;
    launcher->mpi = mpi_by_version(launch.out);
    if (launcher->mpi == NULL)
        launcher->mpi = mpi_by_version(launch.err);
    launch_release(&launch);
    if (launcher->mpi != NULL)
        return is_built(launcher->mpi) ? 0
                                       : error_set(error,
                                                   "%s belongs to %s, for which this mpistair has no calibration "
                                                   "programs: build it where that MPI is installed",
                                                   launcher->words[0], launcher->mpi);
    for (size_t i = 0; i < sizeof mpis / sizeof mpis[0]; i++) {
        launcher->mpi = mpis[i];
        if (!is_built(mpis[i]) || launcher_run(launcher, "pingpong", hello, IDENTIFY_S, NULL, &launch, NULL) != 0)
            continue;
        bool found = runs_together(&launch);
        launch_release(&launch);
        if (found)
            return 0;
    }
    return error_set(error,
                     "%s: neither its --version nor a trial tells which MPI it starts; expected two ranks or more "
                     "of an MPI that mpistair was built with",
                     launcher->words[0]);
}
