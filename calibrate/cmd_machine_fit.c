/* Runs `mpistair machine fit` and `check`: makes a table from samples, and says what is suspicious in one. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/fit/samples_csv.h"
#include "calibrate/cmd_machine.h"
#include "calibrate/fit/fit_machine.h"
#include "share/base/help_text.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "calibrate/fit/verdict.h"
#include "calibrate/table_print.h"

static int fit_and_write(const char *raw, const char *output, struct fit_options *options, struct machine *machine,
                         struct error *error)
{
    struct samples samples;
    struct output_file file;
    if (samples_read_csv(raw, &samples, error) != 0)
        return -1;
    int result = fit_machine(&samples, options, machine, stderr, error);
    samples_release(&samples);
    if (result != 0)
        return -1;
    if (output_file_open(&file, output, error) != 0)
        return -1;
    machine_write(file.stream, machine);
    return output_file_commit(&file, error);
}

int machine_command_fit(int argc, char **argv)
{
    struct fit_options options = {0};
    struct error error;
    const char *name = NULL, *output = NULL, *thresholds = "auto";
    int method = 0, statistic = 0;
    const struct option_row rows[] = {
        {0, "name", "N", "of the machine", .text = &name},
        {'o', "output", "OUT.tbl", "default: standard output", .text = &output},
        {0, "method", "relative|ols", "least squares of relative errors (default), or ordinary ones",
         .choice = &method},
        {0, "statistic", "median|min", "of the samples of a size; default median", .choice = &statistic},
        {0, "thresholds", "auto|0,256,16384",
         "the smallest sizes of short, eager, rendezvous in order; a single 0 makes one\nprotocol of all",
         .text = &thresholds},
    };
    const struct option_table table = {.command = "machine fit",
                                       .usage = "usage: mpistair machine fit RAW.csv --name N [OPTIONS]\n\n"
                                                "A table from samples: header with level,bytes,seconds, optional n.\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("machine fit", "expected one file of samples, got %d", argc);
    if (name == NULL || !machine_name_valid(name))
        return wrong_usage("machine fit", "expected --name N, a word of letters, digits, '.', '_', '-'");
    if (fit_thresholds_parse(thresholds, &options, &error) != 0)
        return wrong_usage("machine fit", "%s", error.text);
    options.method = method == 0 ? LINE_RELATIVE : LINE_OLS;
    options.statistic = statistic == 0 ? STATISTIC_MEDIAN : STATISTIC_MIN;
    struct machine machine = {0};
    const char *raw = argv[0], *slash = strrchr(raw, '/');
    snprintf(machine.name, sizeof machine.name, "%s", name);
    snprintf(machine.source, sizeof machine.source,
             "fitted to %.200s: %s least squares, %s per size, thresholds %.100s", slash != NULL ? slash + 1 : raw,
             method == 0 ? "relative" : "ordinary", statistic == 0 ? "median" : "minimum", thresholds);
    int result = fit_and_write(raw, output, &options, &machine, &error);
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
    if (verdict->n_doubts > 0)
        help_text_line("%s", "");
    verdict_tell(verdict, all, print_doubt, NULL);
}

static void add_doubt(void *context, const char *text)
{
    json_array_append_new(context, json_string(text));
}

static json_t *verdict_json(const struct verdict *verdict)
{
    json_t *doubts = json_array();
    verdict_tell(verdict, true, add_doubt, doubts);
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
        {0, "database", "trace.db", "where the machine is looked for first", .text = &database},
        {0, "raw", "RAW.csv", "these samples instead of those beside FILE.tbl (FILE.raw.csv)", .text = &raw},
        {0, "all", NULL, "a line for each value, instead of one for all of a quantity", .flag = &all},
        {0, "json", NULL, "as JSON", .flag = &as_json},
        {0, "strict", NULL, "exit code 1 if anything is suspicious", .flag = &strict},
    };
    const struct option_table table = {.command = "machine check",
                                       .words = {WORDS_MACHINE, WORDS_NONE},
                                       .usage = "usage: mpistair machine check NAME|FILE.tbl [OPTIONS]\n\n"
                                                "What a table may be used for, and what is suspicious in it.\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("machine check", "expected one NAME or FILE.tbl");
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
    struct verdict verdict;
    if (verdict_make(&verdict, &machine, raw != NULL ? &samples : NULL, &error) != 0)
        code = error_report(&error);
    else if (as_json)
        code = table_print_value(stdout, verdict_json(&verdict));
    else
        print_verdict(&verdict, machine.name, all, raw != NULL);
    if (strict && verdict.n_doubts > 0)
        code = EXIT_WORK_FAILED;
    verdict_release(&verdict);
    samples_release(&samples);
    machine_release(&machine);
    return code;
}
