/* mpistair run: records a job from its start to its trace. Everything that can be wrong with the names is found before
 * the job starts, since a job may be long. */
#include "command.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "ingest.h"
#include "installation.h"
#include "pattern.h"
#include "run/launch.h"
#include "run/nested.h"
#include "run/run_keys.h"
#include "run/spool_folder.h"

static const char usage[] =
    "usage: mpistair run [-o trace.db] [--placement L.csv] [--spool DIR] [--keep-spools] [--] LAUNCHER [ARGUMENTS]\n"
    "\n"
    "Runs an MPI job, as `mpistair run -- mpiexec -n 8 ./app`, records its point-to-point operations and writes them\n"
    "into one SQLite file. The program is neither recompiled nor relinked. Exits as the job did; 1 if the job was "
    "fine\n"
    "and its trace could not be written. A script that starts several MPI jobs gives a trace for each: t.db, t-2.db, "
    "...\n"
    "\n"
    "  -o, --output FILE    default mpistair-<job or process id>.db in the working directory; replaced only when\n"
    "                       complete\n"
    "  --placement L.csv    node and socket of each rank (rank,node,socket) instead of where they were seen\n"
    "  --spool DIR          a folder of this run's own for what the processes write while they run, on every node;\n"
    "                       default: FILE.spool, or in TMPDIR where that lies on a network file system\n"
    "  --keep-spools        keep them, for `mpistair ingest`\n"
    "\n"
    "Environment: MPISTAIR_SPOOL_LIMIT, bytes of spools a node (K, M, G; default 1G);\n"
    "MPISTAIR_STACK, frames of callers to keep with each operation (0 to 63; default 0).\n";

struct run_options {
    const char *output;
    const char *placement;
    const char *spool;
    int keep_spools;
    char **command;
};

/* -1: go on, else the exit code. */
static int read_options(int argc, char **argv, struct run_options *options)
{
    enum { OPTION_PLACEMENT = 256, OPTION_SPOOL };
    const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"placement", required_argument, NULL, OPTION_PLACEMENT},
        {"spool", required_argument, NULL, OPTION_SPOOL},
        {"keep-spools", no_argument, &options->keep_spools, 1},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    optind = 0;
    for (int option; (option = getopt_long(argc, argv, "+o:h", long_options, NULL)) != -1;) {
        switch (option) {
        case 0:
            break;
        case 'o':
            options->output = optarg;
            break;
        case OPTION_PLACEMENT:
            options->placement = optarg;
            break;
        case OPTION_SPOOL:
            options->spool = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_DONE;
        default:
            return wrong_usage("run", "see the option above");
        }
    }
    if (optind >= argc)
        return wrong_usage("run", "no job was given: expected a launcher and its arguments, as -- mpiexec -n 8 ./app");
    if (options->output != NULL && (options->output[0] == '\0' || strcmp(options->output, "-") == 0))
        return wrong_usage("run", "-o: expected the name of a file, a database is not written to standard output");
    if (options->spool != NULL && options->spool[0] == '\0')
        return wrong_usage("run", "--spool: expected the name of a folder");
    options->command = argv + optind;
    return -1;
}

/* The absolute name of the trace, from the option, or from the batch system's job or this process. 0, or -1 with the
 * reason: it must be possible to put a file there. */
static int find_output(const char *given, char output[PATH_MAX], struct error *error)
{
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"};
    char name[PATH_MAX], folder[PATH_MAX], file[PATH_MAX];
    snprintf(name, sizeof name, "mpistair-%ld.db", (long)getpid());
    for (size_t i = sizeof jobs / sizeof jobs[0]; i-- > 0;)
        if (getenv(jobs[i]) != NULL && getenv(jobs[i])[0] != '\0')
            snprintf(name, sizeof name, "mpistair-%.100s.db", getenv(jobs[i]));
    if (given != NULL && snprintf(name, sizeof name, "%s", given) >= (int)sizeof name)
        return error_set(error, "-o: the name is too long");
    memcpy(folder, name, sizeof folder);
    memcpy(file, name, sizeof file);
    char *absolute = realpath(dirname(folder), NULL);
    struct stat status;
    int result = 0;
    if (absolute == NULL || access(absolute, W_OK | X_OK) != 0)
        result = error_set(error, "%s: cannot be written: its folder: %s", name, strerror(errno));
    else if (snprintf(output, PATH_MAX, "%s/%s", absolute, basename(file)) >= PATH_MAX - (int)sizeof ".spool.999")
        result = error_set(error, "%s: the name is too long", name);
    else if (stat(output, &status) == 0 && !S_ISREG(status.st_mode))
        result = error_set(error, "%s: expected a file or nothing there", name);
    free(absolute);
    return result;
}

/* Reads it now, so that a mistake in it shows before the job; the ingest reads it again. */
static int check_placement(const char *path, struct error *error)
{
    struct placement placement = {0};
    int result = path != NULL ? placement_read_csv(path, &placement, error) : 0;
    placement_release(&placement);
    return result;
}

static int find_preload(char path[PATH_MAX], struct error *error)
{
    char found[PATH_MAX];
    if (installation_find(INSTALLATION_PRELOAD, NULL, found, sizeof found, error) != 0)
        return -1;
    if (realpath(found, path) == NULL)
        return error_set(error, "%s: %s", found, strerror(errno));
    if (strpbrk(path, " :") != NULL)
        return error_set(error, "%s: LD_PRELOAD cannot carry a name with blanks or colons; install mpistair elsewhere",
                         path);
    return 0;
}

/* The spools of one run, and of those that were joined to it, become a trace. Returns the exit code. */
static int ingest_run(char *const *folders, size_t n_folders, struct run_keys *keys, size_t number, const char *output,
                      const struct run_options *options)
{
    const char *path = options->placement != NULL ? options->placement : getenv("MPISTAIR_PLACEMENT");
    struct placement placement = {0};
    struct error error;
    struct ingest_options ingest_options = {.folders = folders,
                                            .n_folders = n_folders,
                                            .run_key = keys->keys[number].text,
                                            .output = output,
                                            .calls = true,
                                            .tell = run_keys_done,
                                            .context = keys};
    int result = 0;
    if (path != NULL && path[0] != '\0') {
        result = placement_read_csv(path, &placement, &error);
        ingest_options.placement = &placement;
    }
    if (result == 0)
        result = ingest(&ingest_options, &error);
    placement_release(&placement);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

/* The trace of the number-th run, 1, 2, ...: t.db, t-2.db, ... */
static void name_output(const char *output, size_t number, char name[PATH_MAX + 32])
{
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    int stem = dot != NULL && dot > slash + 1 ? (int)(dot - output) : (int)strlen(output);
    if (number == 1)
        snprintf(name, PATH_MAX, "%s", output);
    else
        snprintf(name, PATH_MAX + 32, "%.*s-%zu%s", stem, output, number, output + stem);
}

/* The spools become the trace, or one trace a run where a script started several. Returns the exit code. */
static int ingest_spools(const struct spool_folder *folder, const char *output, const struct run_options *options)
{
    const char *folders[2] = {NULL, NULL};
    struct run_keys keys = {0};
    if (spool_folder_count(folder->path) > 0)
        folders[0] = folder->path;
    if (strcmp(folder->collected, folder->path) != 0 && spool_folder_count(folder->collected) > 0)
        folders[1] = folder->collected;
    size_t inner = nested_tell(folder->path);
    if (folders[0] == NULL && folders[1] == NULL && inner > 0)
        return EXIT_DONE;
    if (folders[0] == NULL && folders[1] == NULL)
        return fail("nothing was recorded: no process of the job left a spool in %s. Likely reasons:\n"
                    "  - the job failed before MPI_Init, or its program uses no MPI or is statically linked to it\n"
                    "  - the launcher does not hand LD_PRELOAD on (a container, sudo, an option such as -genvnone)\n"
                    "  - there is no backend for its MPI: then a line above says so\n"
                    "'mpistair doctor' tells what works here",
                    folder->path);
    int code = EXIT_DONE;
    for (int i = 0; i < 2; i++)
        if (folders[i] != NULL && run_keys_add(&keys, folders[i]) != 0)
            code = fail("no memory for the runs in %s", folders[i]);
    if (code == EXIT_DONE && keys.n == 0)
        code = fail("%s: no spool in it can be read", folder->path);
    char *present[2];
    size_t n_present = 0, n_traces = 0;
    for (int i = 0; i < 2; i++)
        if (folders[i] != NULL)
            present[n_present++] = (char *)(uintptr_t)folders[i];
    for (size_t i = 0; code == EXIT_DONE && i < keys.n; i++) {
        char name[PATH_MAX + 32];
        if (keys.keys[i].is_done)
            continue;
        name_output(output, ++n_traces, name);
        code = ingest_run(present, n_present, &keys, i, name, options);
        if (code == EXIT_DONE)
            nested_leave(name);
    }
    run_keys_release(&keys);
    if (code == EXIT_DONE && !options->keep_spools)
        spool_folder_remove(folder);
    else
        fprintf(stderr, "mpistair: the spools are in %s\n", folder->path);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct run_options options = {0};
    char output[PATH_MAX], preload[PATH_MAX];
    struct spool_folder folder;
    struct error error;
    int code = read_options(argc, argv, &options);
    if (code >= 0)
        return code;
    if (find_output(options.output, output, &error) != 0 || check_placement(options.placement, &error) != 0 ||
        find_preload(preload, &error) != 0 || spool_folder_make(&folder, output, options.spool, &error) != 0)
        return error_report(&error);
    struct launch job = {.command = options.command, .preload = preload, .spool = folder.path, .output = output};
    int status = launch(&job, &error);
    if (status < 0) {
        spool_folder_remove_empty(&folder);
        return error_report(&error);
    }
    code = ingest_spools(&folder, output, &options);
    spool_folder_remove_empty(&folder);
    return status != 0 ? status : code;
}
