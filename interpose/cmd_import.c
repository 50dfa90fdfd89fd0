/* Runs `mpistair import`: which format the files have, spools of them in a folder of our own, and ingest of that. */
#include "interpose/record_commands.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/import/import.h"
#include "interpose/trace/ingest.h"
#include "share/base/error.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "share/base/placement.h"
#include "share/base/one_of.h"

static const char import_usage[] =
    "usage: mpistair import FILE... -o trace.db [--from otf2|goal|dumpi|tit] [--placement L.csv] [--incomplete]\n"
    "                        [--no-calls]\n"
    "\n"
    "Makes a trace of what another tool recorded: an OTF2 archive (its anchor, traces.otf2; of Score-P, or of Extrae\n"
    "by its converter), GOAL of LogGOPSim, DUMPI of SST (a file a rank), or time-independent traces of SimGrid. The\n"
    "trace has what the format has: no call sites; places only of an OTF2 archive or by --placement; and GOAL and\n"
    "SimGrid's have no clock, so computation is as written, and time inside MPI is waiting for others alone.\n";

enum format { FORMAT_OTF2, FORMAT_GOAL, FORMAT_DUMPI, FORMAT_TIT, FORMATS };

static const struct {
    const char *name, *suffix;
} formats[FORMATS] = {{"otf2", ".otf2"}, {"goal", ".goal"}, {"dumpi", ".bin"}, {"tit", ".tit"}};

/* Returns the format that was asked for, or that the first file's name has; FORMATS: neither. */
static enum format format_of(const char *asked, const char *path)
{
    for (int i = 0; i < FORMATS; i++)
        if (asked ? strcmp(asked, formats[i].name) == 0 : ends_with(path, formats[i].suffix) > 0)
            return (enum format)i;
    return FORMATS;
}

static int read_files(enum format format, char **paths, size_t n, struct import_run *run, struct error *error)
{
    const char *const *files = (const char *const *)paths;
    if (n > 1 && (format == FORMAT_OTF2 || format == FORMAT_GOAL))
        return error_set(error, "%s: a trace of this format is one file", paths[1]);
    return format == FORMAT_OTF2    ? import_otf2(paths[0], run, error)
           : format == FORMAT_DUMPI ? import_dumpi(files, n, run, error)
           : format == FORMAT_GOAL  ? import_goal(paths[0], run, error)
                                    : import_tit(files, n, run, error);
}

/* What lies in the folder goes also where memory runs out, which ends the process, and where a signal does. */
static const struct import_run *volatile unfinished;

static void remove_unfinished(void)
{
    if (unfinished)
        import_remove(unfinished);
}

static void end_by(int number)
{
    output_file_remove_all();
    remove_unfinished();
    raise(number); /* waits for the end of this handler, and then has its default */
}

static void remove_at_end(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    atexit(remove_unfinished);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before, ours = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND};
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
    }
}

static int import_files(enum format format, char **paths, size_t n, bool may_be_incomplete,
                        struct ingest_options *options, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    char *folder = xasprintf("%s/mpistair-import-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        free(folder);
        return error_set(error, "no folder for the import's own files in %s", temporary ? temporary : "/tmp");
    }
    struct import_run run = {.folder = folder, .command = paths[0], .may_be_incomplete = may_be_incomplete};
    unfinished = &run;
    remove_at_end();
    int result = read_files(format, paths, n, &run, error);
    options->folders = &folder;
    options->n_folders = 1;
    if (result == 0)
        result = ingest(options, error);
    unfinished = NULL;
    import_remove(&run);
    free(folder);
    return result;
}

int cmd_import(int argc, char **argv)
{
    struct ingest_options options = {0};
    const char *placement_path = NULL, *asked = NULL;
    bool no_calls = false, may_be_incomplete = false;
    const struct option_row rows[] = {
        {'o', "output", "FILE", "the trace; an existing file is replaced once the new one is complete",
         .text = &options.output},
        {0, "from", "FORMAT", "otf2, goal, dumpi, tit; default: by the first file's suffix: .otf2, .goal, .bin, .tit",
         .text = &asked},
        {0, "placement", "L.csv", "node and socket of each rank (columns rank,node,socket)", .text = &placement_path},
        {0, "incomplete", NULL, "import DUMPI though files of some ranks are missing", .flag = &may_be_incomplete},
        {0, "no-calls", NULL, "omit the table of single calls, for a smaller file", .flag = &no_calls},
        {0, "quiet", NULL, "print no summary on standard error", .flag = &options.quiet},
    };
    const struct option_table table = {"import", import_usage, rows, sizeof rows / sizeof rows[0], .notes = NULL};
    int result = options_read(&table, &argc, &argv);
    if (result != OPTIONS_READ)
        return result;
    if (argc < 1)
        return wrong_usage("import", "no file: expected a trace of another tool");
    if (options.output == NULL || options.output[0] == '\0' || strcmp(options.output, "-") == 0)
        return wrong_usage("import", "expected -o FILE, the trace to write");
    enum format format = format_of(asked, argv[0]);
    if (format == FORMATS)
        return wrong_usage("import",
                           asked ? "--from %s: expected otf2, goal, dumpi or tit"
                                 : "%s: its suffix is none of .otf2, .goal, .bin, .tit; give --from FORMAT",
                           asked ? asked : argv[0]);
    options.calls = !no_calls;
    struct placement placement = {0};
    struct error error;
    result = 0;
    if (placement_path != NULL) {
        result = placement_read_csv(placement_path, &placement, &error);
        options.placement = &placement;
    }
    if (result == 0)
        result = import_files(format, argv, (size_t)argc, may_be_incomplete, &options, &error);
    placement_release(&placement);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
