/* Runs `mpistair ingest`: reads its options and the placement; with a launcher it brings together the spools of several
 * nodes first. The work is done in trace/ingest.c. */
#include "interpose/record_commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/error.h"
#include "interpose/database/shards.h"
#include "share/base/memory.h"
#include "interpose/run/collect.h"
#include "interpose/run/spool_folder.h"
#include "interpose/trace/ingest.h"
#include "share/base/options.h"
#include "share/base/placement.h"
#include "share/base/settings.h"

static const char ingest_usage[] =
    "usage: mpistair ingest SPOOLDIR... [-o trace.db] [OPTIONS] [-- LAUNCHER [ITS OPTIONS]]\n"
    "\n"
    "Reads the spools (*.mpispool) of a recorded job, even one that was killed, matches sends with receives, finds\n"
    "rounds, and writes a trace, an SQLite file. If each node has spools of its own in those folders, name a launcher\n"
    "that reaches the nodes, as in -- srun -N4 --nodelist=node[0-3] or -- mpiexec -n 16: it brings them together.\n";

static const char placement_help[] = "node and socket of each rank (columns rank,node,socket), in place of the "
                                     "observed ones; default: MPISTAIR_PLACEMENT";

/* The folders to be read, and that to which spools of other nodes are brought. */
struct ingest_places {
    char **folders; /* [n_folders + 1], each allocated */
    size_t n_folders;
    struct spool_folder brought;
    bool is_claimed, is_ours; /* nothing was in it before */
};

/* Returns the path from the root, under which other nodes see a folder that may not be here. */
static char *absolute_path(const char *path)
{
    char own[PATH_MAX];
    if (path[0] == '/' || getcwd(own, sizeof own) == NULL)
        return xstrdup(path);
    return xasprintf("%s/%s", own, path);
}

/* Brings the spools of other nodes to OUTPUT.spool, unless the folders have all of the run. Returns 0, or -1 with the
 * reason. */
static int bring_spools(struct ingest_places *places, const struct ingest_options *options, char *const *launcher,
                        struct error *error)
{
    struct seen_runs seen;
    const char *const *folders = (const char *const *)(uintptr_t)places->folders;
    char *output = absolute_path(options->output);
    seen_runs_find(folders, places->n_folders, &seen);
    const struct collection collection = {.launcher = launcher,
                                          .folders = folders,
                                          .n_folders = places->n_folders,
                                          .destination = places->brought.collected,
                                          .keys = &options->run_key,
                                          .n_keys = options->run_key != NULL,
                                          .since_unix_ns = options->run_key != NULL ? UINT64_MAX : 0,
                                          .family = seen.n > 0 ? seen.runs[0].family : SPOOL_FAMILY_UNKNOWN};
    int result = 0;
    if (seen.n == 0 || seen_runs_lack(&seen, options->run_key)) {
        result = spool_folder_join(&places->brought, output, error) == SPOOL_FOLDER_READY ? 0 : -1;
        places->is_claimed = result == 0;
        places->is_ours = result == 0 && spool_folder_count(places->brought.collected) == 0;
        if (result == 0)
            result = collect(&collection, error);
    }
    seen_runs_release(&seen);
    free(output);
    return result;
}

/* Leaves out folders that only other nodes have, and adds that of what was brought. */
static void read_brought(struct ingest_places *places)
{
    size_t n = 0;
    bool is_there = !places->is_claimed;
    for (size_t i = 0; i < places->n_folders; i++) {
        is_there = is_there || strcmp(places->folders[i], places->brought.collected) == 0;
        if (places->is_claimed && spool_folder_count(places->folders[i]) == 0)
            free(places->folders[i]);
        else
            places->folders[n++] = places->folders[i];
    }
    if (!is_there)
        places->folders[n++] = xstrdup(places->brought.collected);
    places->n_folders = n;
}

static void places_release(struct ingest_places *places, bool is_done)
{
    for (size_t i = 0; i < places->n_folders; i++) {
        if (is_done)
            spool_folder_sweep(places->folders[i]);
        free(places->folders[i]);
    }
    free(places->folders);
    if (places->is_ours)
        spool_folder_remove(&places->brought);
    if (places->is_claimed)
        spool_folder_release(&places->brought);
}

/* Returns the words behind "--" that are a launcher, and cuts them off; NULL: none. */
static char **cut_launcher(int *argc, char **argv)
{
    for (int i = 2; i < *argc - 1; i++)
        if (strcmp(argv[i], "--") == 0) {
            *argc = i;
            argv[i] = NULL;
            return argv + i + 1;
        }
    return NULL;
}

int cmd_ingest(int argc, char **argv)
{
    struct ingest_options options = {0};
    char **launcher = cut_launcher(&argc, argv);
    const char *placement_path = setting("MPISTAIR_PLACEMENT");
    bool no_calls = false;
    uint64_t jobs = 0, shards = 0;
    const struct option_row rows[] = {
        {'o', "output", "FILE",
         "the trace; an existing file is replaced once the new one is complete; default: mpistair-RUN.db in the "
         "working directory",
         .text = &options.output},
        {0, "placement", "L.csv", placement_help, .text = &placement_path},
        {0, "run", "KEY", "the job to take if the folders hold several", .text = &options.run_key},
        {'j', "jobs", "N",
         "processor cores to use; the trace is the same with any number (default: all that the process may use)",
         .whole = &jobs, .least = 1, .most = 1024},
        {0, "shards", "N",
         "write rows of single messages, calls and rounds into N files beside the trace, by ranks; 1: into the trace "
         "itself (default: 1, but of more than 5e7 operations a file for each 5e7)",
         .whole = &shards, .least = 1, .most = SHARDS_MOST},
        {0, "no-calls", NULL, "omit the table of single calls, for a smaller file", .flag = &no_calls},
        {0, "quiet", NULL, "print no summary on standard error", .flag = &options.quiet},
    };
    const struct option_table table = {"ingest", ingest_usage, rows, sizeof rows / sizeof rows[0], .notes = NULL};
    int result = options_read(&table, &argc, &argv);
    if (result != OPTIONS_READ)
        return result;
    if (argc < 1)
        return wrong_usage("ingest", "no spools: expected one or more folders of spools");
    if (options.output != NULL && (options.output[0] == '\0' || strcmp(options.output, "-") == 0))
        return wrong_usage("ingest", "-o: expected a file name; a trace cannot be written to standard output");
    if (launcher != NULL && options.output == NULL)
        return wrong_usage("ingest", "-- %s: expected -o as well, to whose FILE.spool spools are brought", launcher[0]);
    options.calls = !no_calls;
    options.jobs = (size_t)jobs;
    options.shards = (size_t)shards;
    struct ingest_places places = {.folders = xcalloc((size_t)argc + 1, sizeof *places.folders),
                                   .n_folders = (size_t)argc};
    for (int i = 0; i < argc; i++)
        places.folders[i] = launcher != NULL ? absolute_path(argv[i]) : xstrdup(argv[i]);
    struct placement placement = {0};
    struct error error;
    result = 0;
    if (placement_path != NULL && placement_path[0] != '\0') {
        result = placement_read_csv(placement_path, &placement, &error);
        options.placement = &placement;
    }
    if (result == 0 && launcher != NULL)
        result = bring_spools(&places, &options, launcher, &error);
    if (result == 0) {
        struct seen_runs seen;
        read_brought(&places);
        seen_runs_find((const char *const *)(uintptr_t)places.folders, places.n_folders, &seen);
        if (launcher != NULL)
            seen_runs_tell_missing(&seen, options.run_key);
        seen_runs_release(&seen);
        options.folders = places.folders;
        options.n_folders = places.n_folders;
        result = ingest(&options, &error);
    }
    placement_release(&placement);
    places_release(&places, result == 0);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
