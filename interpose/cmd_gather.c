/* Runs `mpistair gather`. The work is done in trace/write/gather_shards.c. */
#include "interpose/record_commands.h"

#include <stdbool.h>
#include <string.h>

#include "interpose/trace/write/gather_shards.h"
#include "share/base/error.h"
#include "share/base/options.h"

static const char gather_usage[] =
    "usage: mpistair gather TRACE -o FILE [--quiet]\n"
    "\n"
    "Makes one file of a trace.db and the shards beside it, the same as 'mpistair ingest --shards 1' writes, with "
    "what\n"
    "was added since. Other programs read that file whole, and it can be moved alone. The trace and its shards stay,\n"
    "unless FILE is the trace itself.\n";

int cmd_gather(int argc, char **argv)
{
    const char *output = NULL;
    bool quiet = false;
    const struct option_row rows[] = {
        {'o', "output", "FILE", "the file to write; an existing one is replaced once the new one is complete",
         .text = &output},
        {0, "quiet", NULL, "print no summary on standard error", .flag = &quiet},
    };
    const struct option_table table = {"gather",      gather_usage,          rows, sizeof rows / sizeof rows[0],
                                       .notes = NULL, .words = {WORDS_TRACE}};
    int result = options_read(&table, &argc, &argv);
    if (result != OPTIONS_READ)
        return result;
    if (argc != 1)
        return wrong_usage("gather", "expected one trace, got %d arguments", argc);
    if (output == NULL || output[0] == '\0' || strcmp(output, "-") == 0)
        return wrong_usage("gather", "-o: expected a file name; a trace cannot be written to standard output");
    struct error error;
    size_t n_shards = 0;
    if (shards_gather(argv[0], output, &n_shards, &error) != 0)
        return error_report(&error);
    if (!quiet && n_shards == 0)
        inform("%s: a copy of %s, which is one file", output, argv[0]);
    else if (!quiet)
        inform("%s: %s and its %zu shards", output, argv[0], n_shards);
    return EXIT_DONE;
}
