/* Runs `mpistair machine fit` and `check`: makes a table from samples, and says what is suspicious in one. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/samples/samples.h"
#include "calibrate/command/cmd_machine.h"
#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/fit_memory.h"
#include "calibrate/fit/thresholds.h"
#include "share/base/help_text.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "calibrate/fit/verdict.h"
#include "calibrate/command/table_print.h"

/* What the fit was asked for. */
struct request {
    const char *raw, *name, *output, *thresholds;
    int method, statistic;
    bool memory, has_method, has_statistic;
    struct fit_options options;
};

/* Makes a table of messages, or of memory contention. */
static int fit(const struct request *request, struct machine *machine, struct error *error)
{
    struct samples samples;
    struct memory_samples memory;
    struct error reason;
    int result;
    if (!request->memory) {
        if (samples_read_csv(request->raw, &samples, error) != 0)
            return -1;
        result = fit_machine(&samples, &request->options, machine, stderr, error);
        samples_release(&samples);
        return result;
    }
    if (memory_samples_read_csv(request->raw, &memory, error) != 0)
        return -1;
    result = fit_memory(&memory, machine, stderr, &reason);
    memory_samples_release(&memory);
    return result == 0 ? 0 : error_set(error, "%s: %s", request->raw, reason.text);
}

static int fit_and_write(const struct request *request, struct machine *machine, struct error *error)
{
    struct output_file file;
    if (fit(request, machine, error) != 0 || output_file_open(&file, request->output, error) != 0)
        return -1;
    machine_write(file.stream, machine);
    return output_file_commit(&file, error);
}

static int parse_fit(int argc, char **argv, struct request *request)
{
    struct error error;
    const struct option_row rows[] = {
        {0, "name", "N", "of the machine", .text = &request->name},
        {'o', "output", "OUT.tbl", "default: standard output", .text = &request->output},
        {0, "memory", NULL, "fit samples of memory contention (of 'mpistair calibrate --memory')",
         .flag = &request->memory},
        {0, "method", "relative|ols", "least squares of relative errors (default), or ordinary ones",
         .choice = &request->method, .given = &request->has_method},
        {0, "statistic", "median|min", "statistic of the samples of a size; default: median",
         .choice = &request->statistic, .given = &request->has_statistic},
        {0, "thresholds", "auto|0,256,16384",
         "smallest sizes of short, eager and rendezvous messages; a single 0: one protocol for all sizes",
         .text = &request->thresholds},
    };
    const struct option_table table = {.command = "machine fit",
                                       .usage = "usage: mpistair machine fit RAW.csv --name N [OPTIONS]\n"
                                                "\n"
                                                "Fits a machine table to samples, a CSV file with columns "
                                                "level,bytes,seconds and optionally n. mpistair(5) describes\n"
                                                "these files.\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("machine fit", "expected one file of samples, got %d", argc);
    if (request->name == NULL || !machine_name_valid(request->name))
        return wrong_usage("machine fit", "expected --name N, a word of letters, digits, '.', '_', '-'");
    if (request->memory && (request->has_method || request->has_statistic || request->thresholds != NULL))
        return wrong_usage("machine fit", "--method, --statistic and --thresholds do not apply to --memory");
    if (request->thresholds == NULL)
        request->thresholds = "auto";
    if (fit_thresholds_parse(request->thresholds, &request->options, &error) != 0)
        return wrong_usage("machine fit", "%s", error.text);
    request->options.method = request->method == 0 ? LINE_RELATIVE : LINE_OLS;
    request->options.statistic = request->statistic == 0 ? STATISTIC_MEDIAN : STATISTIC_MIN;
    request->raw = argv[0];
    return OPTIONS_READ;
}

int machine_command_fit(int argc, char **argv)
{
    struct error error;
    struct request request = {.raw = NULL};
    struct machine machine = {0};
    int code = parse_fit(argc, argv, &request);
    if (code != OPTIONS_READ)
        return code;
    const char *slash = strrchr(request.raw, '/'), *raw = slash != NULL ? slash + 1 : request.raw;
    snprintf(machine.name, sizeof machine.name, "%s", request.name);
    if (request.memory)
        snprintf(machine.source, sizeof machine.source, "fitted to %.200s: memory contention", raw);
    else
        snprintf(machine.source, sizeof machine.source,
                 "fitted to %.200s: %s least squares, %s per size, thresholds %.100s", raw,
                 request.method == 0 ? "relative" : "ordinary", request.statistic == 0 ? "median" : "minimum",
                 request.thresholds);
    int result = fit_and_write(&request, &machine, &error);
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

static void print_doubt(void *context, const char *text)
{
    (void)context;
    help_text_line("  %s", text);
}

static void print_verdict(const struct verdict *verdict, const char *name, bool all, bool has_samples)
{
    help_text_line("%s: %s%s%s", name, verdict_word[verdict->word], verdict->word == VERDICT_USABLE_FOR ? " " : "",
                   verdict->word == VERDICT_USABLE_FOR ? verdict->uses : "");
    if (verdict->word == VERDICT_USABLE_FOR)
        help_text_line("  not for %s", verdict->not_uses);
    help_text_line("  %s%s", verdict->reason, has_samples ? "" : " The samples are not there to compare with.");
    if (verdict->doubts.n > 0)
        help_text_line("%s", "");
    verdict_each_doubt(verdict, all, print_doubt, NULL);
}

static void add_doubt(void *context, const char *text)
{
    json_add(context, json_string(text));
}

static struct json *verdict_json(const struct verdict *verdict)
{
    struct json *doubts = json_array();
    verdict_each_doubt(verdict, true, add_doubt, doubts);
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "verdict", verdict_word[verdict->word], "usable_for", verdict->uses,
                     "not_for", verdict->not_uses, "reason", verdict->reason, "doubts", doubts);
}

int machine_command_check(int argc, char **argv)
{
    const char *raw = NULL, *database = NULL;
    bool strict = false, as_json = false, all = false;
    char beside[PATH_MAX];
    struct error error;
    struct machine machine;
    struct samples samples = {0};
    const struct option_row rows[] = {
        {0, "database", "trace.db", "the trace to search for the machine first", .text = &database},
        {0, "raw", "RAW.csv", "the samples; default: FILE.raw.csv beside FILE.tbl", .text = &raw},
        {0, "all", NULL, "print a line per value, not one per quantity", .flag = &all},
        {0, "json", NULL, "print JSON", .flag = &as_json},
        {0, "strict", NULL, "exit with 1 if anything is suspicious", .flag = &strict},
    };
    const struct option_table table = {.command = "machine check",
                                       .words = {WORDS_MACHINE, WORDS_NONE},
                                       .usage = "usage: mpistair machine check NAME|FILE.tbl [OPTIONS]\n"
                                                "\n"
                                                "Prints what a table can be used for, and what is suspicious in it.\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("machine check", "expected one machine, NAME or FILE.tbl");
    const char *name = argv[0];
    if (machine_command_find(name, database, &machine, &error) != 0)
        return error_report(&error);
    if (raw == NULL)
        raw = machine_command_raw(name, beside);
    if (raw != NULL && samples_read_csv(raw, &samples, &error) != 0) {
        machine_release(&machine);
        return error_report(&error);
    }
    code = EXIT_DONE;
    struct verdict verdict = verdict_make(&machine, raw != NULL ? &samples : NULL);
    if (as_json)
        code = table_print_value(stdout, verdict_json(&verdict));
    else
        print_verdict(&verdict, machine.name, all, raw != NULL);
    if (strict && verdict.doubts.n > 0)
        code = EXIT_WORK_FAILED;
    verdict_release(&verdict);
    samples_release(&samples);
    machine_release(&machine);
    return code;
}
