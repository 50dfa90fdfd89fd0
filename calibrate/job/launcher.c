/* Nothing in the user's command says to which MPI the launcher belongs. The processes of another MPI would each run
 * alone and measure nothing, so the MPI is found out before any measurement. */
#include "calibrate/job/launcher.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "share/base/installation.h"
#include "share/base/memory.h"

#define IDENTIFY_S 20.0
#define PROGRAM    "mpistair-benchmark-%s" /* by MPI */

/* What launchers print for --version, and the MPI; MPICH and its relatives share Hydra. */
static const struct {
    const char *word;
    const char *mpi;
} words[] = {
    {"Open MPI", "openmpi"}, {"OpenRTE", "openmpi"}, {"PRRTE", "openmpi"},      {"PRTE", "openmpi"},
    {"HYDRA", "mpich"},      {"MPICH", "mpich"},     {"Intel(R) MPI", "mpich"}, {"MVAPICH", "mpich"},
};
enum { ABI = 2, N_MPIS };
static const char *const mpis[N_MPIS] = {"openmpi", "mpich", [ABI] = "abi"};

int launcher_run(const struct launcher *launcher, const char *benchmark, char *const *arguments, double limit_s,
                 const struct child_listener *listener, struct error *error)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, PROGRAM, launcher->mpi);
    if (installation_find(INSTALLATION_PROGRAM, name, path, sizeof path, error) != 0)
        return -1;
    size_t n_arguments = 0;
    while (arguments[n_arguments] != NULL)
        n_arguments++;
    size_t n_words = (size_t)launcher->n_words;
    char **argv = xcalloc(n_words + n_arguments + 3, sizeof *argv);
    memcpy(argv, launcher->words, n_words * sizeof *argv);
    argv[n_words] = path;
    argv[n_words + 1] = (char *)benchmark;
    memcpy(argv + n_words + 2, arguments, n_arguments * sizeof *argv);
    int status = 0, result = child_run(argv, limit_s, listener, &status, error);
    free(argv);
    if (result == 0 && WIFSIGNALED(status))
        return error_set(error, "%s %s under %s: ended by signal %d (%s)", name, benchmark, launcher->words[0],
                         WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (result == 0 && status != 0)
        return error_set(error, "%s %s under %s: failed with exit status %d; what it said is above", name, benchmark,
                         launcher->words[0], WEXITSTATUS(status));
    return result;
}

/* What the output of a launcher or a trial tells. */
struct hearing {
    const char *mpi; /* that of the first word that is known */
    int n_told;      /* how many processes told a number of ranks, and the last number */
    int ranks;
    FILE *said; /* what trials said, other than notes */
};

static int hear(void *context, enum child_stream stream, const char *line, bool whole, struct error *error)
{
    (void)stream, (void)whole, (void)error;
    struct hearing *hearing = context;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && hearing->mpi == NULL; i++)
        if (strstr(line, words[i].word) != NULL)
            hearing->mpi = words[i].mpi;
    if (strncmp(line, LAUNCH_NOTE, sizeof LAUNCH_NOTE - 1) == 0)
        hearing->n_told += sscanf(line + sizeof LAUNCH_NOTE - 1, "ranks %d", &hearing->ranks) == 1;
    else if (hearing->said != NULL)
        fprintf(hearing->said, "%s\n", line);
    return 0;
}

static bool is_built(const char *mpi)
{
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof name, PROGRAM, mpi);
    return installation_find(INSTALLATION_PROGRAM, name, path, sizeof path, NULL) == 0;
}

/* Returns whether the processes find each other: under a launcher of another MPI each is alone and reports one rank. */
static bool runs_together(struct launcher *launcher, FILE *said)
{
    char *hello[] = {"--hello", NULL};
    struct hearing hearing = {.said = said};
    const struct child_listener listener = {.line = hear, .context = &hearing};
    struct error reason;
    if (launcher_run(launcher, "pingpong", hello, IDENTIFY_S, &listener, &reason) != 0) {
        fprintf(said, "%s\n", reason.text);
        return false;
    }
    return hearing.n_told == 1 && hearing.ranks > 1;
}

/* Tries the benchmarks of each MPI that are built and takes the first that runs under the launcher. What the trials
 * said is shown only where none does. */
static bool identify_by_trial(struct launcher *launcher, const char *const *tried, size_t n_tried)
{
    const char *before = launcher->mpi;
    char *text = NULL;
    size_t size = 0;
    bool found = false;
    FILE *said = or_no_memory(open_memstream(&text, &size));
    for (size_t i = 0; i < n_tried && !found; i++) {
        launcher->mpi = tried[i];
        found = is_built(tried[i]) && runs_together(launcher, said);
    }
    fclose(said);
    if (!found) {
        fputs(text, stderr);
        launcher->mpi = before;
    }
    free(text);
    return found;
}

int launcher_identify(struct launcher *launcher, struct error *error)
{
    char *version[] = {launcher->words[0], "--version", NULL};
    struct hearing hearing = {.mpi = NULL};
    const struct child_listener listener = {.line = hear, .context = &hearing};
    int status;
    if (child_run(version, IDENTIFY_S, &listener, &status, error) != 0)
        return -1;
    launcher->mpi = hearing.mpi;
    if (launcher->mpi == NULL)
        return identify_by_trial(launcher, mpis, N_MPIS)
                   ? 0
                   : error_set(error,
                               "%s: neither its --version nor a trial tells which MPI it starts; expected two ranks or "
                               "more of an MPI that mpistair was built with",
                               launcher->words[0]);
    if (is_built(launcher->mpi) || identify_by_trial(launcher, &mpis[ABI], 1))
        return 0;
    return error_set(error,
                     "%s belongs to %s, for which this mpistair has no calibration programs, and those of the standard "
                     "ABI find no libmpi_abi.so.1 of that MPI: build mpistair where that MPI is installed",
                     launcher->words[0], launcher->mpi);
}
