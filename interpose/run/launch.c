/* The job gets the recorder through its environment alone. hydra and srun hand the environment on to other nodes. Open
 * MPI's rsh launch passes on only the variables that -x options or the parameter mca_base_env_list name. It refuses
 * both at once, so the list is used unless the command has -x options itself; then ours join them. Neither is done for
 * a launcher that is not Open MPI's: a script may use -x where we do not see it. */
#include "interpose/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/base/installation.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"
#include "share/base/settings.h"

#define LIST            "OMPI_MCA_mca_base_env_list"
#define LIST_DELIMITER  "OMPI_MCA_mca_base_env_list_delimiter"
#define OWN_LIBRARY     "libmpistair.so"
#define ASAN_VARIABLE   "ASAN_OPTIONS"
#define INGEST_VARIABLE "MPISTAIR_INGEST"

extern char **environ;

bool launch_wants_ingest(void)
{
    const char *given = setting(INGEST_VARIABLE);
    return given == NULL || strcmp(given, "0") != 0;
}

bool launch_find_command(const char *name, char path[PATH_MAX])
{
    if (strchr(name, '/') != NULL)
        return realpath(name, path) != NULL;
    const char *folders = getenv("PATH");
    for (const char *at = folders != NULL ? folders : "/usr/local/bin:/usr/bin:/bin"; at != NULL;) {
        char candidate[PATH_MAX];
        const char *end = strchrnul(at, ':');
        int length = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)(end - at), at, name);
        if (length > 0 && length < PATH_MAX && access(candidate, X_OK) == 0)
            return realpath(candidate, path) != NULL;
        at = *end == ':' ? end + 1 : NULL;
    }
    return false;
}

/* LD_PRELOAD is a list whose entries the loader expands (ld.so(8), dynamic string tokens): an installation may lie in a
 * folder whose name it cannot carry, and the loader then says on standard error of every process that it ignores it. */

/* Returns the token that the loader would replace in a path, NULL if there is none. */
static const char *token_in(const char *path)
{
    static const char *const tokens[] = {"$ORIGIN",   "$LIB",   "$PLATFORM", /* with braces, too */
                                         "${ORIGIN}", "${LIB}", "${PLATFORM}"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        for (const char *at = path; (at = strstr(at, tokens[i])) != NULL; at++) {
            const char *behind = at + strlen(tokens[i]);
            if (tokens[i][1] == '{' || *behind == '\0' || *behind == '/')
                return tokens[i];
        }
    return NULL;
}

int launch_find_preload(char path[PATH_MAX], struct error *error)
{
    char found[PATH_MAX];
    if (installation_find(INSTALLATION_PRELOAD, NULL, found, sizeof found, error) != 0)
        return -1;
    if (realpath(found, path) == NULL)
        return error_set(error, "%s: %s", found, strerror(errno));
    if (strpbrk(path, " :") != NULL)
        return error_set(error, "%s: LD_PRELOAD cannot carry a name with blanks or colons; install mpistair elsewhere",
                         path);
    const char *token = token_in(path);
    if (token != NULL)
        return error_set(error, "%s: the loader replaces %s in a name in LD_PRELOAD; install mpistair elsewhere", path,
                         token);
    return 0;
}

/* Recognises the launcher: every mpirun and mpiexec of Open MPI 1 to 4 is a link to orterun; Open MPI 5 has prterun
 * behind its mpirun. */
static bool is_openmpi_launcher(const char *command)
{
    char path[PATH_MAX];
    return launch_find_command(command, path) &&
           WORD_IS_ONE_OF(file_name(path), "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi");
}

/* Recognises the runtime of a sanitizer: preloaded by the user, it stays in front of all others, as it wants. */
static bool is_sanitizer(const char *library)
{
    static const char *const names[] = {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libclang_rt."};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(file_name(library), names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Appends those entries of a list of libraries that are runtimes of sanitizers, or those that are not; never another
 * mpistair's: an inner `mpistair run` replaces an outer. */
static void append_libraries(char *all, const char *list, bool sanitizers)
{
    for (const char *at = list; *at != '\0';) {
        char entry[PATH_MAX];
        size_t length = strcspn(at, " :");
        snprintf(entry, sizeof entry, "%.*s", (int)length, at);
        if (length > 0 && is_sanitizer(entry) == sanitizers && strcmp(file_name(entry), OWN_LIBRARY) != 0) {
            strcat(all, all[0] != '\0' ? ":" : "");
            strncat(all, at, length);
        }
        at += length + (at[length] != '\0');
    }
}

/* Puts ours in front of what the user preloads. */
static int set_preload(const char *own)
{
    const char *given = getenv("LD_PRELOAD") != NULL ? getenv("LD_PRELOAD") : "";
    char *all = xcalloc(strlen(own) + strlen(given) + 3, 1);
    append_libraries(all, given, true);
    strcat(all, all[0] != '\0' ? ":" : "");
    strcat(all, own);
    append_libraries(all, given, false);
    int result = setenv("LD_PRELOAD", all, 1);
    free(all);
    return result;
}

/* A program built with -fsanitize=address refuses to start where another library than its runtime comes first. Ours has
 * nothing that the runtime replaces, so it may: to preload the runtime would put it into the launcher, too. */
static int set_sanitizer(void)
{
    static const char option[] = "verify_asan_link_order=0";
    const char *given = getenv(ASAN_VARIABLE);
    if (given == NULL || given[0] == '\0')
        return setenv(ASAN_VARIABLE, option, 1);
    char *all = xasprintf("%s:%s", given, option);
    int result = setenv(ASAN_VARIABLE, all, 1);
    free(all);
    return result;
}

/* Variables by which programs find the tool that is told of their regions (preload/region_ways.c). */
static const char *const region_variables[] = {"NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "KOKKOS_TOOLS_LIBS"};

/* Makes ours that tool, unless the user has another one, or sets a variable to nothing. */
static int set_regions(const char *own)
{
    for (size_t i = 0; i < sizeof region_variables / sizeof region_variables[0]; i++)
        if (setenv(region_variables[i], own, 0) != 0)
            return -1;
    return 0;
}

static bool is_handed_on(const char *variable)
{
    for (size_t i = 0; i < sizeof region_variables / sizeof region_variables[0]; i++)
        if (strncmp(variable, region_variables[i], strlen(region_variables[i])) == 0)
            return true;
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "MPISTAIR_", 9) == 0 ||
           strncmp(variable, ASAN_VARIABLE "=", sizeof ASAN_VARIABLE) == 0;
}

static bool is_listed(const char *list, const char *name, size_t length, char delimiter)
{
    for (const char *at = list; *at != '\0';) {
        const char *end = strchrnul(at, delimiter);
        if ((size_t)(end - at) == length && strncmp(at, name, length) == 0)
            return true;
        at = *end == '\0' ? end : end + 1;
    }
    return false;
}

/* Adds the names of our variables to Open MPI's list; it takes their values from the launcher's environment. */
static int set_list(void)
{
    const char *given = getenv(LIST), *delimiters = getenv(LIST_DELIMITER);
    char delimiter = delimiters != NULL && delimiters[0] != '\0' ? delimiters[0] : ';';
    size_t size = (given != NULL ? strlen(given) : 0) + 1;
    for (char **variable = environ; *variable != NULL; variable++)
        size += strlen(*variable) + 1;
    char *list = xmalloc(size);
    strcpy(list, given != NULL ? given : "");
    for (char **variable = environ; *variable != NULL; variable++) {
        size_t length = strcspn(*variable, "="), used = strlen(list);
        if (!is_handed_on(*variable) || is_listed(list, *variable, length, delimiter))
            continue;
        if (used > 0)
            list[used++] = delimiter;
        memcpy(list + used, *variable, length);
        list[used + length] = '\0';
    }
    int result = setenv(LIST, list, 1);
    free(list);
    return result;
}

/* Returns the command with -x NAME for each of our variables behind the launcher. */
static char **with_options(char **command)
{
    size_t n = 0, n_variables = 0, used = 0;
    while (command[n] != NULL)
        n++;
    while (environ[n_variables] != NULL)
        n_variables++;
    char **longer = xcalloc(n + 2 * n_variables + 1, sizeof *longer);
    longer[used++] = command[0];
    for (size_t i = 0; i < n_variables; i++)
        if (is_handed_on(environ[i])) {
            static char option[] = "-x";
            longer[used++] = option;
            longer[used++] = xstrndup(environ[i], strcspn(environ[i], "="));
        }
    memcpy(longer + used, command + 1, (n - 1) * sizeof *longer);
    return longer;
}

static bool has_option(char **command, const char *option)
{
    for (size_t i = 1; command[0] != NULL && command[i] != NULL; i++)
        if (strcmp(command[i], option) == 0)
            return true;
    return false;
}

/* Sets a name of this run for processes that cannot ask each other for one, and for a run within this one. */
static int set_key(void)
{
    char host[256] = "", key[sizeof host + 64];
    struct timespec now;
    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(key, sizeof key, "%s-%ld-%lld.%09ld", host, (long)getppid(), (long long)now.tv_sec, now.tv_nsec);
    return setenv("MPISTAIR_KEY", key, 1);
}

/* Makes the job leave the ingest to us; what the user wants stays visible to a run within this one. */
static int set_ingest(void)
{
    return launch_wants_ingest() ? setenv(INGEST_VARIABLE, "run", 1) : 0;
}

/* Becomes the command, in the child, and never returns; where the command cannot be started an errno value goes through
 * the pipe. */
_Noreturn static void become_job(const struct launch *job, const sigset_t *mask, int report)
{
    char **command = job->command;
    bool is_set = setenv("MPISTAIR_SPOOL", job->spool, 1) == 0 && set_key() == 0 &&
                  setenv("MPISTAIR_OUTPUT", job->output, 1) == 0 && set_ingest() == 0 &&
                  set_preload(job->preload) == 0 && set_regions(job->preload) == 0 && set_sanitizer() == 0;
    if (is_set && is_openmpi_launcher(command[0])) {
        if (has_option(command, "-x") && getenv(LIST) == NULL)
            command = with_options(command);
        else
            is_set = set_list() == 0;
    }
    int reason = ENOMEM;
    if (is_set) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(command[0], command);
        reason = errno;
    }
    while (write(report, &reason, sizeof reason) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

/* Waits for the child, and hands on signals that are sent to us. What the terminal sends reaches the whole group by
 * itself. */
static int wait_for(pid_t child, const sigset_t *signals, const struct launch *job)
{
    for (;;) {
        int status;
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (ended < 0 && errno != EINTR)
            return 1;
        siginfo_t info;
        int number = sigwaitinfo(signals, &info);
        if (number <= 0 || number == SIGCHLD || info.si_code == SI_KERNEL)
            continue;
        if (job->ending != NULL && (number == SIGINT || number == SIGTERM || number == SIGHUP))
            job->ending(job->folder);
        kill(child, number);
    }
}

int launch(const struct launch *job, struct error *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t signals, before;
    int report[2], reason = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return error_set(error, "%s: cannot be started: %s", job->command[0], strerror(errno));
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaddset(&signals, numbers[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, the job's end would be lost */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_job(job, &before, report[1]);
    close(report[1]);
    int result = -1;
    if (child < 0)
        error_set(error, "%s: cannot be started: %s", job->command[0], strerror(errno));
    else if (read(report[0], &reason, sizeof reason) == sizeof reason) {
        error_set(error, "%s: cannot be started: %s", job->command[0], strerror(reason));
        waitpid(child, NULL, 0);
    } else
        result = wait_for(child, &signals, job);
    close(report[0]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}
