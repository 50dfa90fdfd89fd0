/* mpistair machine fit, check: from samples to a table, and what is suspicious in one. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/fit/samples_csv.h"
#include "calibrate/cmd_machine.h"
#include "calibrate/fit/fit_machine.h"
#include "share/base/output_file.h"
#include "calibrate/fit/suspicion.h"
#include "calibrate/table_print.h"

/* The word in a list of two, as its index; -1: none of them. */
static int choice(const char *word, const char *first, const char *second)
{
    return strcmp(word, first) == 0 ? 0 : strcmp(word, second) == 0 ? 1 : -1;
}

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
    static const struct option known[] = {
        {"name", required_argument, NULL, 'n'},       {"output", required_argument, NULL, 'o'},
        {"method", required_argument, NULL, 'm'},     {"statistic", required_argument, NULL, 's'},
        {"thresholds", required_argument, NULL, 't'}, {NULL, 0, NULL, 0}};
    struct fit_options options = {0};
    struct error error;
    const char *name = NULL, *output = NULL, *thresholds = "auto";
    int method = 0, statistic = 0;
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "o:", known, NULL)) != -1;) {
        if (option == 'n')
            name = optarg;
        else if (option == 'o')
            output = optarg;
        else if (option == 'm')
            method = choice(optarg, "relative", "ols");
        else if (option == 's')
            statistic = choice(optarg, "median", "min");
        else if (option == 't')
            thresholds = optarg;
        else
            return wrong_usage("machine", "fit: option '%s' is not known or lacks its value", argv[optind - 1]);
        if (method < 0 || statistic < 0)
            return wrong_usage("machine", "fit: '%s': expected %s", optarg,
                               method < 0 ? "relative or ols" : "median or min");
    }
    if (argc - optind != 1)
        return wrong_usage("machine", "fit: expected one file of samples, got %d", argc - optind);
    if (name == NULL || !machine_name_valid(name))
        return wrong_usage("machine", "fit: expected --name N, a word of letters, digits, '.', '_', '-'");
    if (fit_thresholds_parse(thresholds, &options, &error) != 0)
        return wrong_usage("machine", "fit: %s", error.text);
    options.method = method == 0 ? LINE_RELATIVE : LINE_OLS;
    options.statistic = statistic == 0 ? STATISTIC_MEDIAN : STATISTIC_MIN;
    struct machine machine = {0};
    const char *raw = argv[optind], *slash = strrchr(raw, '/');
    snprintf(machine.name, sizeof machine.name, "%s", name);
    snprintf(machine.source, sizeof machine.source,
             "fitted to %.200s: %s least squares, %s per size, thresholds %.100s", slash != NULL ? slash + 1 : raw,
             method == 0 ? "relative" : "ordinary", statistic == 0 ? "median" : "minimum", thresholds);
    int result = fit_and_write(raw, output, &options, &machine, &error);
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

static void print_sentence(void *context, const char *sentence)
{
    json_t *json = context;
    if (json == NULL)
        puts(sentence);
    else
        json_array_append_new(json, json_string(sentence));
}

int machine_command_check(int argc, char **argv)
{
    static const struct option known[] = {{"raw", required_argument, NULL, 'r'},
                                          {"database", required_argument, NULL, 'd'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"strict", no_argument, NULL, 's'},
                                          {NULL, 0, NULL, 0}};
    const char *raw = NULL, *database = NULL;
    bool strict = false;
    bool as_json = false;
    char beside[PATH_MAX];
    struct error error;
    struct machine machine;
    struct samples samples = {0};
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'r')
            raw = optarg;
        else if (option == 'd')
            database = optarg;
        else if (option == 'j')
            as_json = true;
        else if (option == 's')
            strict = true;
        else
            return wrong_usage("machine", "check: option '%s' is not known or lacks its value", argv[optind - 1]);
    }
    if (argc - optind != 1)
        return wrong_usage("machine", "check: expected one NAME or FILE.tbl");
    const char *name = argv[optind];
    if (machine_command_find(name, database, &machine, &error) != 0)
        return error_report(&error);
    if (raw == NULL)
        raw = machine_command_raw(name, beside);
    if (raw != NULL && samples_read_csv(raw, &samples, &error) != 0) {
        machine_release(&machine);
        return error_report(&error);
    }
    json_t *json = as_json ? json_array() : NULL;
    int n = suspicion_find(&machine, raw != NULL ? &samples : NULL, print_sentence, json);
    int code = EXIT_DONE;
    if (as_json)
        code = table_print_value(stdout, json);
    else if (n == 0)
        printf("%s: nothing suspicious%s\n", machine.name, raw != NULL ? "" : " (without the samples)");
    samples_release(&samples);
    machine_release(&machine);
    return strict && n > 0 ? EXIT_WORK_FAILED : code;
}
