/* Runs `mpistair run`, which records a job from its start to its trace. Everything that can be wrong with the names is
 * found before the job starts, since a job may be long. */
#include "interpose/record_commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/error.h"
#include "interpose/trace/ingest.h"
#include "interpose/trace/write/write.h"
#include "share/base/options.h"
#include "share/base/placement.h"
#include "interpose/run/launch.h"
#include "interpose/run/living.h"
#include "interpose/run/nested.h"
#include "interpose/run/output_name.h"
#include "interpose/run/preload_path.h"
#include "interpose/run/run_keys.h"
#include "interpose/run/spool_folder.h"
#include "interpose/run/told_to_end.h"
#include "interpose/run/unrecorded.h"

static const char usage[] =
    "usage: mpistair run [-o trace.db] [--placement L.csv] [--spool DIR] [--keep-spools] [--] LAUNCHER [ARGUMENTS]\n"
    "\n"
    "Runs an MPI job, as `mpistair run -- mpiexec -n 8 ./app`, records its point-to-point operations and writes them\n"
    "into one SQLite file. The program is neither recompiled nor relinked. Exits as the job did; 1 if the job was "
    "fine\n"
    "and its trace could not be written. A script that starts several MPI jobs gives a trace for each: t.db, t-2.db, "
    "...\n";
static const char notes[] =
    "Environment:\n"
    "  MPISTAIR_SPOOL_LIMIT  bytes of spools a node (K, M, G; default 1G)\n"
    "  MPISTAIR_PREALLOCATE  bytes of spools a node to take in MPI_Init (K, M, G; default: as they are needed)\n"
    "  MPISTAIR_STACK        frames of callers to keep with each operation (0 to 63; default 0)\n"
    "  MPISTAIR_WINDOW       when to record (10s-1.5m since MPI_Init, or mark 3-5 of MPI_Pcontrol; default: always)\n"
    "  MPISTAIR_JOIN_S       seconds that MPI_Init waits for processes without the library (default 60)\n"
    "  MPISTAIR_DETAIL       collectives and one-sided calls behind which only sums are kept (default 100000)\n";

struct run_options {
    const char *output;
    const char *placement;
    const char *spool;
    bool keep_spools;
    char **command;
};

/* Returns OPTIONS_READ, or the exit code. */
static int read_options(int argc, char **argv, struct run_options *options)
{
    const struct option_row rows[] = {
        {'o', "output", "FILE",
         "replaced only when complete; without it a new mpistair-<job or process id>.db in the\nworking directory",
         .text = &options->output},
        {0, "placement", "L.csv", "node and socket of each rank (rank,node,socket) instead of where they were seen",
         .text = &options->placement},
        {0, "spool", "DIR",
         "a folder of this run's own for what the processes write while they run, on every node;\n"
         "default: FILE.spool, or in TMPDIR where that lies on a network file system",
         .text = &options->spool},
        {0, "keep-spools", NULL, "keep them, for `mpistair ingest`", .flag = &options->keep_spools},
    };
    const struct option_table table = {
        "run", usage, rows, sizeof rows / sizeof rows[0], .notes = notes, .is_launcher = true};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc < 1)
        return wrong_usage("run", "no job was given: expected a launcher and its arguments, as -- mpiexec -n 8 ./app");
    if (options->output != NULL && (options->output[0] == '\0' || strcmp(options->output, "-") == 0))
        return wrong_usage("run", "-o: expected the name of a file, a database is not written to standard output");
    if (options->spool != NULL && options->spool[0] == '\0')
        return wrong_usage("run", "--spool: expected the name of a folder");
    options->command = argv;
    return OPTIONS_READ;
}

/* Finds the trace's name, and a folder of spools that is this run's own. Returns 0, or -1 with the reason. */
static int claim_output(const struct run_options *options, struct output_name *output, struct spool_folder *folder,
                        struct error *error)
{
    struct output_name wanted;
    if (output_name_find(&wanted, options->output, error) != 0)
        return -1;
    for (unsigned number = 1; output_name_number(wanted.path, number, output->path) == 0; number++) {
        output->is_given = wanted.is_given && number == 1;
        if (!output->is_given && access(output->path, F_OK) == 0)
            continue;
        enum spool_folder_result result = spool_folder_make(folder, output->path, options->spool, error);
        if (result == SPOOL_FOLDER_FAILED)
            return -1;
        if (result == SPOOL_FOLDER_TAKEN)
            continue;
        if (number > 1)
            inform("%s %s: the trace of this run goes to %s",
                   wanted.is_given ? "another mpistair run records to" : "there is already a trace, or a run, of",
                   wanted.path, output->path);
        return 0;
    }
    return error_set(error, "%s: no free name for another trace beside it", wanted.path);
}

/* Reads the placement now, so that a mistake in it shows before the job; the ingest reads it again. */
static int check_placement(const char *path, struct error *error)
{
    struct placement placement = {0};
    int result = path != NULL ? placement_read_csv(path, &placement, error) : 0;
    placement_release(&placement);
    return result;
}

/* Makes a trace of the spools of one run, and of those that were joined to it. Returns the exit code. */
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
                                            .replaces_told = options->output != NULL && number == 0,
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

/* Prints a line for each run on how its trace is made by hand. */
static void tell_ingest(const char *const *folders, size_t n_folders, const struct run_keys *keys,
                        const struct output_name *output)
{
    for (size_t i = 0; i < keys->n; i++) {
        char name[PATH_MAX];
        if (output_name_number(output->path, (unsigned)i + 1, name) != 0)
            continue;
        bool has_keys = keys->n > 1, has_two = n_folders > 1;
        inform("MPISTAIR_INGEST=0: no trace yet; it is made by: mpistair ingest%s%s %s%s%s -o %s",
               has_keys ? " --run " : "", has_keys ? keys->keys[i].text : "", folders[0], has_two ? " " : "",
               has_two ? folders[1] : "", name);
    }
}

/* Makes traces of all runs in the folders. Returns the exit code. */
static int ingest_runs(const char *const *folders, size_t n_folders, struct run_keys *keys,
                       const struct output_name *output, struct timespec since, const struct run_options *options)
{
    unsigned number = 1;
    for (size_t i = 0; i < keys->n; i++) {
        char name[PATH_MAX];
        struct error error;
        if (keys->keys[i].is_done)
            continue;
        if (output_name_next(output, since, &number, name, &error) != 0)
            return error_report(&error);
        number++;
        int code = ingest_run((char *const *)(uintptr_t)folders, n_folders, keys, i, name, options);
        if (code != EXIT_DONE)
            return code;
        nested_leave(name);
    }
    return EXIT_DONE;
}

/* Says why nothing was recorded: the reasons that the command shows, else those that are likely. Returns the exit code.
 */
static int tell_unrecorded(const struct spool_folder *folder, const struct run_options *options)
{
    int code = fail("nothing was recorded: no process of the job left a spool in %s", folder->path);
    if (unrecorded_tell(options->command) == 0)
        fputs("Likely reasons:\n"
              "  - the job failed before MPI_Init, or its program uses no MPI or is statically linked to it\n"
              "  - the launcher does not hand LD_PRELOAD on (a container, sudo, an option such as -genvnone)\n"
              "  - there is no backend for its MPI, or it calls its MPI past the loader: then a line above says so\n",
              stderr);
    fputs("'mpistair doctor' tells what works here\n", stderr);
    return code;
}

/* Turns the spools into the trace, or into a trace for each run where a script started several. Returns the exit code.
 */
static int ingest_spools(const struct spool_folder *folder, const struct output_name *output,
                         const struct run_options *options)
{
    const char *folders[2];
    size_t n_folders = 0;
    struct run_keys keys = {0};
    bool wanted = launch_wants_ingest();
    if (spool_folder_count(folder->path) > 0)
        folders[n_folders++] = folder->path;
    if (strcmp(folder->collected, folder->path) != 0 && spool_folder_count(folder->collected) > 0)
        folders[n_folders++] = folder->collected;
    size_t inner = nested_tell(folder->path);
    if (n_folders == 0 && inner > 0)
        return EXIT_DONE;
    if (n_folders == 0)
        return tell_unrecorded(folder, options);
    int code = EXIT_DONE;
    for (size_t i = 0; i < n_folders; i++)
        run_keys_add(&keys, folders[i]);
    if (keys.n == 0)
        code = fail("%s: no spool in it can be read", folder->path);
    if (code == EXIT_DONE && wanted)
        code = ingest_runs(folders, n_folders, &keys, output, folder->output_claim.since, options);
    else if (code == EXIT_DONE)
        tell_ingest(folders, n_folders, &keys, output);
    run_keys_release(&keys);
    if (code == EXIT_DONE && wanted && !options->keep_spools)
        spool_folder_remove(folder);
    else if (wanted)
        inform("the spools are in %s", folder->path);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct run_options options = {0};
    char preload[PATH_MAX];
    struct output_name output;
    struct spool_folder folder;
    struct error error;
    int code = read_options(argc, argv, &options);
    if (code >= 0)
        return code;
    if (check_placement(options.placement, &error) != 0 || preload_path_find(preload, &error) != 0 ||
        claim_output(&options, &output, &folder, &error) != 0)
        return error_report(&error);
    if (output.is_given)
        replaced_note(output.path, "will be replaced");
    struct launch job = {.command = options.command, .preload = preload, .spool = folder.path, .output = output.path};
    int status = launch(&job, &error);
    if (status < 0) {
        spool_folder_release(&folder);
        return error_report(&error);
    }
    told_to_end_begin(folder.path, output.path);
    size_t living = living_wait(folder.path);
    if (living > 0)
        fprintf(stderr,
                "mpistair: %zu process%s of the job outlive%s the launcher; the trace ends where they are now\n",
                living, living == 1 ? "" : "es", living == 1 ? "s" : "");
    code = ingest_spools(&folder, &output, &options);
    told_to_end_end();
    spool_folder_release(&folder);
    return status != 0 ? status : code;
}
