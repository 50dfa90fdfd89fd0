/* Starts `mpistair ingest` once MPI is finalized, so that the job itself loads no database. See start_ingest.h.
 *
 * The child gets a clean environment: nothing is preloaded, and nothing makes it look like a process of the job. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/backend/run/start_ingest.h"
#include "interpose/backend/run/folder.h"
#include "interpose/backend/recorder/state.h"
#include "interpose/spool/readers.h"
#include "share/base/settings.h"

#define LARGE_BYTES (UINT64_C(256) << 20) /* beyond this the job does not wait for its trace */

extern char **environ;

static const char *const dropped[] = {"LD_PRELOAD=", "OMPI_", "PMI_",   "PMI2_",      "PMIX_",
                                      "PRTE_",       "HYDI_", "HYDRA_", "MPIR_CVAR_", "MPISTAIR_"};

static int is_dropped(const char *variable)
{
    if (strncmp(variable, "MPISTAIR_PLACEMENT=", 19) == 0 || strncmp(variable, "MPISTAIR_SHARE=", 15) == 0 ||
        strncmp(variable, "MPISTAIR_READERS=", 17) == 0 || strncmp(variable, "MPISTAIR_CONF=", 14) == 0)
        return 0;
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return 1;
    return 0;
}

/* Returns the environment without what is_dropped names; the strings are shared, and the caller frees the array. NULL
 * without memory. */
static char **clean_environment(void)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n])
        n++;
    char **clean = malloc((n + 1) * sizeof *clean);
    if (!clean)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!is_dropped(environ[i]))
            clean[kept++] = environ[i];
    clean[kept] = NULL;
    return clean;
}

/* Finds the mpistair program: MPISTAIR_BIN, or by where this backend lies (installed, multiarch, build folder), or in
 * PATH. */
static void find_program(char program[PATH_MAX])
{
    static const char *const relative[] = {"../../bin/mpistair", "../../../bin/mpistair", "../bin/mpistair",
                                           "../../mpistair"};
    const char *given = setting("MPISTAIR_BIN");
    Dl_info info;
    if (given && given[0]) {
        snprintf(program, PATH_MAX, "%s", given);
        return;
    }
    if (dladdr(dropped, &info) && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        int length = slash ? (int)(slash - info.dli_fname) : 0;
        for (size_t i = 0; slash && i < sizeof relative / sizeof *relative; i++) {
            int written = snprintf(program, PATH_MAX, "%.*s/%s", length, info.dli_fname, relative[i]);
            if (written > 0 && written < PATH_MAX && access(program, X_OK) == 0)
                return;
        }
    }
    snprintf(program, PATH_MAX, "mpistair");
}

/* Runs the program in the folder in which the job began, and waits. Returns its exit status, or -1 where it could not
 * run or the job reaped it. */
static int run_program(char *const arguments[], const char *folder)
{
    posix_spawn_file_actions_t actions;
    char **clean = clean_environment();
    pid_t child;
    int status = -1;
    if (!clean || posix_spawn_file_actions_init(&actions) != 0) {
        free(clean);
        return -1;
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (folder[0])
        posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (posix_spawnp(&child, arguments[0], &actions, NULL, arguments, clean) == 0) {
        while (waitpid(child, &status, 0) < 0) {
            if (errno != EINTR) {
                status = -1;
                break;
            }
        }
        status = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    posix_spawn_file_actions_destroy(&actions);
    free(clean);
    return status;
}

/* The command that builds the trace of a run. */
struct command {
    char program[PATH_MAX];
    char collected[PATH_MAX]; /* the folder of spools from other nodes; empty: there is none */
    char output[PATH_MAX];
    int holds_place; /* output is an empty file that we made */
};

/* Reserves the name of the trace. A name of our own choice must not replace what an earlier job, or another one that
 * ends now, left under it: an empty file takes the first free name of NAME.db, NAME-2.db, ..., and the trace
 * replaces it. */
static void hold_place(struct command *command, const char *output)
{
    int stem = (int)(strlen(output) - strlen(".db"));
    for (int number = 1, fd = -1; fd < 0 && number < 10000; number++) {
        char suffix[16] = "";
        if (number > 1)
            snprintf(suffix, sizeof suffix, "-%d", number);
        snprintf(command->output, sizeof command->output, "%.*s%s.db", stem < 4000 ? stem : 4000, output, suffix);
        fd = open(command->output, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, readers_file_mode());
        if (fd < 0 && errno != EEXIST)
            return;
        if (fd >= 0) {
            (void)fchmod(fd, readers_file_mode()); /* which the trace keeps */
            close(fd);
            command->holds_place = 1;
        }
    }
}

static void find_command(const struct run *run, struct command *command)
{
    snprintf(command->collected, sizeof command->collected, "%.4000s.spool", run->facts.output);
    if (access(command->collected, R_OK) != 0 || strcmp(command->collected, run->facts.folder) == 0)
        command->collected[0] = '\0';
    find_program(command->program);
    snprintf(command->output, sizeof command->output, "%s", run->facts.output);
    command->holds_place = 0;
}

static void say_command(const struct run *run, const struct command *command, const char *what)
{
    say_line("%s: %s ingest --run %s %s%s%s -o %s", what, command->program, run->facts.key, run->facts.folder,
             command->collected[0] ? " " : "", command->collected, command->output);
}

/* Returns whether this process makes the trace: not with MPISTAIR_INGEST=0, nor under `mpistair run` (=run), which
 * does. */
static int is_wanted(void)
{
    const char *value = setting("MPISTAIR_INGEST");
    return !value || (strcmp(value, "0") != 0 && strcmp(value, "run") != 0);
}

void ingest_say(const struct run *run, const char *what)
{
    struct command command;
    if (!is_wanted())
        return;
    find_command(run, &command);
    say_command(run, &command, what);
}

void ingest_run(const struct run *run, uint64_t bytes)
{
    struct command command;
    char what[128];
    if (!is_wanted())
        return;
    find_command(run, &command);
    /* MPISTAIR_SPOOL is used as it is, so the folder may hold spools of other runs. */
    char *arguments[9] = {command.program, "ingest", "--run", (char *)run->facts.key, (char *)run->facts.folder};
    int n = 5;
    if (command.collected[0])
        arguments[n++] = command.collected;
    arguments[n++] = "-o";
    arguments[n++] = command.output;
    const char *reason = "";
    if (bytes <= LARGE_BYTES) {
        if (run->names_output)
            hold_place(&command, run->facts.output);
        if (run_program(arguments, run->started_in) == 0) {
            run_remove_files(run, run->facts.folder, run->made_folder);
            if (command.collected[0])
                run_remove_files(run, command.collected, 1);
            return;
        }
        if (command.holds_place)
            unlink(command.output);
        reason = ", which failed just now";
    }
    snprintf(what, sizeof what, "%.0f MB recorded; the trace is made by%s", (double)bytes / 1e6, reason);
    say_command(run, &command, what);
}
