/* mpistair report: measured against modelled time per rank. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "share/base/command.h"
#include "share/base/error.h"
#include "report/open_trace.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "report/render/render.h"

enum report_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON, FORMAT_HTML, N_FORMATS };

struct report_options {
    const char *trace, *output;
    enum report_format format;
    struct report_choice choice;
    bool all_ranks, help;
};

static const char usage[] =
    "usage: mpistair report TRACE [--format text|csv|json|html] [-o FILE] [--machine NAME] [--model NAME] "
    "[--all-ranks]\n"
    "\n"
    "Prints what was recorded (trace.db, or a folder of spools, which is ingested first), how complete it is, and per\n"
    "rank the measured time against what the models of 'mpistair predict' say.\n"
    "\n"
    "  -f, --format FORMAT   text (the default); csv: a row a rank and model; json: everything; html: one page\n"
    "      --json            the same as --format json\n"
    "  -o, --output FILE     write there instead of standard output; an existing file is replaced once all is written\n"
    "  -m, --machine NAME    only predictions for this machine\n"
    "  -M, --model NAME      only this model; text and html draw the bars for it instead of the best one\n"
    "      --all-ranks       of more than 64 ranks show all, not the 16 furthest off\n"
    "  -h, --help\n"
    "\n"
    "Error of a model: sum of |measured - modelled| over the ranks, by the sum of measured. Replicate error: the same\n"
    "between the two halves of the rounds of each kind; no model can be expected to score below half of it.\n";

static int parse(int argc, char **argv, struct report_options *options)
{
    static const struct option known[] = {
        {"format", required_argument, NULL, 'f'}, {"json", no_argument, NULL, 'j'},
        {"output", required_argument, NULL, 'o'}, {"machine", required_argument, NULL, 'm'},
        {"model", required_argument, NULL, 'M'},  {"all-ranks", no_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    static const char *const formats[] = {"text", "csv", "json", "html"};
    *options = (struct report_options){0};
    optind = 0;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":f:o:m:M:h", known, NULL)) != -1;) {
        switch (option) {
        case 'f':
            options->format = (enum report_format)option_choice("report", "--format", optarg, formats, N_FORMATS);
            if (options->format == N_FORMATS)
                return EXIT_WRONG_USAGE;
            break;
        case 'j':
            options->format = FORMAT_JSON;
            break;
        case 'o':
            options->output = optarg;
            break;
        case 'm':
            options->choice.machine = optarg;
            break;
        case 'M':
            options->choice.model = optarg;
            break;
        case 'a':
            options->all_ranks = true;
            break;
        case 'h':
            options->help = true;
            return EXIT_DONE;
        default:
            return option_refused("report", option, argv);
        }
    }
    if (optind >= argc)
        return wrong_usage("report", "expected a trace.db or a folder of spools");
    if (optind + 1 < argc)
        return wrong_usage("report", "%s: one trace at a time", argv[optind + 1]);
    options->trace = argv[optind];
    return EXIT_DONE;
}

static int render(FILE *stream, const struct report *report, const struct report_options *options, struct error *error)
{
    struct document document = {0};
    int result = 0;
    switch (options->format) {
    case FORMAT_CSV:
        render_csv(stream, report);
        break;
    case FORMAT_JSON:
        result = render_json(stream, report, error);
        break;
    default:
        result = present(&document, report, options->all_ranks, error);
        if (result == 0 && options->format == FORMAT_TEXT)
            render_text(stream, &document);
        else if (result == 0)
            render_html(stream, &document, report->run.command);
        document_release(&document);
    }
    return result;
}

int cmd_report(int argc, char **argv)
{
    struct report_options options;
    struct output_file output;
    struct report report = {0};
    struct trace trace;
    struct error error;
    int result = parse(argc, argv, &options);
    if (options.help)
        fputs(usage, stdout);
    if (options.help || result != EXIT_DONE)
        return result;
    result = trace_open(&trace, options.trace);
    if (result != EXIT_DONE)
        goto out;
    if (report_collect(&report, trace.database, trace.path, &options.choice, &error) != 0 ||
        output_file_open(&output, options.output, &error) != 0) {
        result = error_report(&error);
        goto out;
    }
    if (render(output.stream, &report, &options, &error) != 0) {
        output_file_discard(&output);
        result = error_report(&error);
    } else if (output_file_commit(&output, &error) != 0) {
        result = error_report(&error);
    }
out:
    report_release(&report);
    trace_close(&trace);
    return result;
}
