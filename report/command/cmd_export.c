/* Runs `mpistair export`: a trace for other tools. `--to` names a format and, given once more, the end of the window,
 * as it does for `mpistair replay`. */
#include <stdlib.h>
#include <string.h>

#include "report/export/trace_export.h"
#include "report/command/open_trace.h"
#include "share/base/array.h"
#include "report/command/commands.h"
#include "share/base/number.h"
#include "interpose/database/transaction.h"
#include "share/base/options.h"
#include "share/base/progress.h"

static const struct export_format {
    const char *name;
    int (*write)(struct export *export);
    bool tells; /* reports itself what a window leaves out */
} formats[] = {
    {"perfetto", export_perfetto, false}, {"otf2", export_otf2, false}, {"goal", export_goal, true},
    {"simgrid", export_simgrid, true},    {"csv", export_csv, false},   {"dot", export_dot, false},
};

static const char export_usage[] =
    "usage: mpistair export TRACE --to FORMAT [--ranks LIST] [--from S] [--to S] [-o FILE]\n"
    "\n"
    "Writes a trace for another tool. TRACE is a trace.db, or a folder of spools, which is "
    "ingested first. The formats:\n"
    "\n"
    "  perfetto  timeline for ui.perfetto.dev and Chrome (trace events, JSON)\n"
    "  otf2      archive for Vampir, Scalasca and others; needs -o, a folder\n"
    "  goal      schedule for LogGOPSim, as 'replay --goal' writes it\n"
    "  simgrid   time-independent trace for SMPI, as 'replay --tit' writes it\n"
    "  csv       messages, calls, collectives, one-sided calls, files: a row each\n"
    "  dot       graph of ranks and their traffic for Graphviz\n";

struct export_options {
    const struct export_format *format;
    const char *output;
    struct export_wish wish;
};

static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

static int take_export_bound(struct run_bound *bound, const char *option, const char *text)
{
    struct error error;
    return run_bound_parse(text, bound, &error) == 0 ? 0 : wrong_usage("export", "%s: %s", option, error.text);
}

static int take_export_from(void *context, const char *text)
{
    struct export_options *options = context;
    return take_export_bound(&options->wish.window.from, "--from", text);
}

static int take_export_to(void *context, const char *text)
{
    struct export_options *options = context;
    const struct export_format *format = find_format(text);
    if (format != NULL && options->format != NULL && format != options->format)
        return wrong_usage("export", "--to %s: --to %s was given before; expected one format", text,
                           options->format->name);
    if (format != NULL) {
        options->format = format;
        return 0;
    }
    struct error error;
    if (run_bound_parse(text, &options->wish.window.to, &error) != 0)
        return wrong_usage("export",
                           "--to: '%s' is neither a format (perfetto, otf2, goal, simgrid, csv, dot) nor the end of a "
                           "window (seconds, mark:NUMBER or site:ID)",
                           text);
    return 0;
}

/* Reads a part of the list, "7" or "0-3". */
static bool read_range(const char *text, size_t length, struct rank_range *range)
{
    char part[32];
    uint64_t first, last;
    if (length == 0 || length >= sizeof part)
        return false;
    memcpy(part, text, length);
    part[length] = '\0';
    char *dash = strchr(part, '-');
    if (dash != NULL)
        *dash = '\0';
    if (number_u64(part, &first) != NULL || number_u64(dash != NULL ? dash + 1 : part, &last) != NULL || first > last ||
        last >= UINT32_MAX)
        return false;
    *range = (struct rank_range){(uint32_t)first, (uint32_t)last};
    return true;
}

static int take_ranks(void *context, const char *text)
{
    struct export_options *options = context;
    struct export_wish *wish = &options->wish;
    for (const char *part = text;; part++) {
        size_t length = strcspn(part, ",");
        struct rank_range range;
        if (!read_range(part, length, &range))
            return wrong_usage("export", "--ranks %s: expected ranks and ranges of ranks, such as 0-3,7", text);
        array_grow(&wish->ranks, wish->n_ranks, sizeof *wish->ranks);
        wish->ranks[wish->n_ranks++] = range;
        part += length;
        if (*part == '\0')
            return 0;
    }
}

static int parse_export(int argc, char **argv, struct export_options *options, const char **trace)
{
    const struct option_row rows[] = {
        {0, "to", "perfetto|otf2|goal|simgrid|csv|dot",
         "the format; or with S, mark:N or site:ID the end of the window, in addition to the format",
         .take = take_export_to},
        {0, "ranks", "LIST", "only these ranks, such as 0-3,7", .take = take_ranks, .words = WORDS_NONE},
        {0, "from", "S|mark:N|site:ID", "only the run from this time, MPI_Pcontrol(N) or call site on",
         .take = take_export_from, .words = WORDS_NONE},
        {'o', "output", "FILE", "the file to write; default: standard output; for otf2 a folder",
         .text = &options->output},
    };
    const struct option_table table = {"export",           export_usage,          rows, sizeof rows / sizeof rows[0],
                                       .context = options, .words = {WORDS_TRACE}};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("export", "expected one trace, got %d arguments", argc);
    if (options->format == NULL)
        return wrong_usage("export", "no format: expected --to perfetto, otf2, goal, simgrid, csv or dot");
    if (options->format->write == export_otf2 && (options->output == NULL || strcmp(options->output, "-") == 0))
        return wrong_usage("export", "--to otf2 requires -o FOLDER, the archive to write");
    *trace = argv[0];
    return OPTIONS_READ;
}

static int write_export(const struct export_options *options, const struct open_trace *trace)
{
    struct error error = {0};
    struct export export = {.database = trace->database,
                            .path = trace->path,
                            .output = options->output,
                            .wish = &options->wish,
                            .error = &error};
    interruptible_begin(trace->database); /* an archive is a folder, which no handler of signals can remove */
    progress_show("export");
    int code = selection_make(&export);
    if (code == 0)
        code = options->format->write(&export);
    if (code == 0 && !options->format->tells)
        code = selection_tell(&export);
    selection_release(&export.selection);
    progress_show(NULL);
    interruptible_end(trace->database);
    return code == 0 ? EXIT_DONE : error_report(&error);
}

int cmd_export(int argc, char **argv)
{
    struct export_options options = {0};
    const char *path = NULL;
    struct open_trace trace;
    int code = parse_export(argc, argv, &options, &path);
    if (code == OPTIONS_READ) {
        code = open_trace(&trace, path);
        if (code == EXIT_DONE)
            code = write_export(&options, &trace);
        close_trace(&trace);
    }
    free(options.wish.ranks);
    return code;
}
