/* Runs `mpistair ingest`: reads its options and the placement; the work is done in trace/ingest.c. */
#include "interpose/record_commands.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/error.h"
#include "interpose/run/spool_folder.h"
#include "interpose/trace/ingest.h"
#include "share/base/options.h"
#include "share/base/placement.h"
#include "share/base/settings.h"

static const char ingest_usage[] =
    "usage: mpistair ingest SPOOLDIR... [-o trace.db] [--placement L.csv] [--run KEY] [--no-calls] [--quiet]\n"
    "\n"
    "Reads the spools (*.mpispool) of a recorded job, even one that was killed, matches sends with receives, finds\n"
    "rounds, and writes a trace, an SQLite file.\n";

static const char placement_help[] = "node and socket of each rank (columns rank,node,socket), in place of the "
                                     "observed ones; default: MPISTAIR_PLACEMENT";

int cmd_ingest(int argc, char **argv)
{
    struct ingest_options options = {0};
    const char *placement_path = setting("MPISTAIR_PLACEMENT");
    bool no_calls = false;
    const struct option_row rows[] = {
        {'o', "output", "FILE",
         "the trace; an existing file is replaced once the new one is complete; default: mpistair-RUN.db in the "
         "working directory",
         .text = &options.output},
        {0, "placement", "L.csv", placement_help, .text = &placement_path},
        {0, "run", "KEY", "the job to take if the folders hold several", .text = &options.run_key},
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
    options.calls = !no_calls;
    options.folders = argv;
    options.n_folders = (size_t)argc;
    struct placement placement = {0};
    struct error error;
    result = 0;
    if (placement_path != NULL && placement_path[0] != '\0') {
        result = placement_read_csv(placement_path, &placement, &error);
        options.placement = &placement;
    }
    if (result == 0)
        result = ingest(&options, &error);
    placement_release(&placement);
    for (int i = 0; result == 0 && i < argc; i++)
        spool_folder_sweep(argv[i]);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
