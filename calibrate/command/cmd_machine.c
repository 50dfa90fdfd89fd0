/* Runs `mpistair machine list`, `show`, `import`, `export`, `fit`, `check` and `diff`; show --plot draws charts. */
#include "calibrate/command/cmd_machine.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "calibrate/samples/memory_samples.h"
#include "calibrate/machine/machine_database.h"
#include "calibrate/samples/samples.h"
#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/fit_memory.h"
#include "calibrate/fit/thresholds.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "calibrate/fit/verdict.h"
#include "share/base/installation.h"
#include "share/base/one_of.h"
#include "share/base/terminal.h"
#include "calibrate/plot/plot.h"
#include "share/base/json.h"
#include "share/base/text_table.h"

/* Reads options, then from least_words to most_words words. Returns OPTIONS_READ, or the exit code. */
static int parse_machine(const struct option_table *table, int *argc, char ***argv, int least_words, int most_words,
                         const char *expected)
{
    int code = options_read(table, argc, argv);
    if (code == OPTIONS_READ && (*argc < least_words || *argc > most_words))
        return wrong_usage(table->command, "expected %s", expected);
    return code;
}

/* Finds a machine by a shipped name or .tbl file, or, with a database (NULL: none), by its name there first. */
static int machine_command_find(const char *name, const char *database, struct machine *machine, struct error *error)
{
    if (database == NULL)
        return machine_find(name, machine, error);
    sqlite3 *opened = NULL;
    if (database_open(database, false, &opened, error) != 0)
        return -1;
    int result = machine_load(opened, database, name, machine, error);
    sqlite3_close(opened);
    return result == 1 ? machine_find(name, machine, error) : result;
}

/* Writes the name of the samples beside a table, FILE.raw.csv for FILE.tbl, into path[PATH_MAX] and returns path; NULL
 * where there is no such file, or one with samples of memory contention. */
static const char *machine_command_raw(const char *table, char *path)
{
    size_t length = ends_with(table, ".tbl");
    if (length == 0 || snprintf(path, PATH_MAX, "%.*s.raw.csv", (int)length, table) >= PATH_MAX)
        return NULL;
    return access(path, R_OK) == 0 && !memory_samples_are_in(path) ? path : NULL;
}

int machine_command_write(const char *path, const struct machine *machine, struct error *error)
{
    struct output_file file;
    if (output_file_open(&file, path, error) != 0)
        return -1;
    machine_write(file.stream, machine);
    return output_file_commit(&file, error);
}

/* The machine that show and check ask for, and its samples. */
struct subject {
    struct machine machine;
    struct samples samples; /* empty where has_samples is false */
    bool has_samples;
};

static void subject_release(struct subject *subject)
{
    machine_release(&subject->machine);
    samples_release(&subject->samples);
}

/* Finds the machine that is named, in the database first (NULL: none), and reads its samples, raw or those beside its
 * table. Returns 0, or -1 with the reason. */
static int subject_read(const char *name, const char *database, const char *raw, struct subject *subject,
                        struct error *error)
{
    char beside[PATH_MAX];
    *subject = (struct subject){.has_samples = false};
    if (machine_command_find(name, database, &subject->machine, error) != 0)
        return -1;
    raw = raw != NULL ? raw : machine_command_raw(name, beside);
    subject->has_samples = raw != NULL;
    if (raw == NULL || samples_read_csv(raw, &subject->samples, error) == 0)
        return 0;
    subject_release(subject);
    return -1;
}

/* A table is in SI units, where a latency is 1.2e-06: people get units in which they can compare, scripts get the
 * numbers. */

/* Units that give readable numbers; the first that fits counts. */
static const struct readable {
    const char *unit;
    const char *shown;
    double factor;
    const char *quantities[6]; /* NULL behind the last; none: of any */
} readable[] = {
    {"s", "ns", 1e9, {"queue_step", "queue_step_unexpected", "gamma", "overhead_send", "overhead_receive"}},
    {"B", "kB", 1e-3, {"buffer", "burst", "backlog", "backlog_pair"}},
    {"1", "%", 100, {"drift_small", "drift_large", "disturbed", "waited", "steal"}},
    {"s/B", "ns/B", 1e9, {NULL}},
    {"s", "us", 1e6, {NULL}},
    {"B/s", "GB/s", 1e-9, {NULL}},
};

static struct readable readable_find(const struct machine_parameter *row)
{
    for (size_t i = 0; i < sizeof readable / sizeof readable[0]; i++)
        if (strcmp(row->unit, readable[i].unit) == 0 &&
            (readable[i].quantities[0] == NULL || word_is_one_of(row->quantity, readable[i].quantities)))
            return readable[i];
    return (struct readable){.unit = row->unit, .shown = row->unit, .factor = 1};
}

/* Writes a value with the digits that its interval supports, and one at least: down to the first digit of half its
 * width, or the second where that begins with 1 to 3.5. uncertain: half the width, NaN where it is not known. */
static void shown_value(double value, double factor, double uncertain, char *text, size_t size)
{
    double shown = value * factor, step = pow(10, floor(log10(fabs(uncertain * factor) / 3.55)));
    double first = pow(10, floor(log10(fabs(shown))));
    if (isnan(value)) {
        snprintf(text, size, "-");
        return;
    }
    bool known = isfinite(step) && step > 0 && isfinite(first) && first > 0;
    if (known)
        shown = round(shown / fmin(step, first)) * fmin(step, first);
    if (known && isfinite(shown))
        snprintf(text, size, "%.6g", shown);
    else
        snprintf(text, size, "%.4g", value * factor);
}

enum { N_CELLS = 7 };

/* A row behind its level and protocol. */
struct cells {
    char text[N_CELLS][80];
};

static struct cells cells_of(const struct machine_parameter *row)
{
    struct readable unit = readable_find(row);
    double uncertain = (row->ci_high - row->ci_low) / 2;
    struct cells cells = {.text = {"", "-", "", "", "-", "-", ""}};
    snprintf(cells.text[0], sizeof cells.text[0], "  %s", row->quantity);
    if (row->n != MACHINE_NO_N)
        snprintf(cells.text[1], sizeof cells.text[1], "%llu", (unsigned long long)row->n);
    shown_value(row->value, unit.factor, uncertain, cells.text[2], sizeof cells.text[2]);
    snprintf(cells.text[3], sizeof cells.text[3], "%s", unit.shown);
    if (!isnan(row->ci_low) || !isnan(row->ci_high)) {
        char low[32], high[32];
        shown_value(row->ci_low, unit.factor, uncertain, low, sizeof low);
        shown_value(row->ci_high, unit.factor, uncertain, high, sizeof high);
        snprintf(cells.text[4], sizeof cells.text[4], "%s .. %s", low, high);
    }
    if (row->samples > 0)
        snprintf(cells.text[5], sizeof cells.text[5], "%llu", (unsigned long long)row->samples);
    snprintf(cells.text[6], sizeof cells.text[6], "%.79s", row->method[0] != '\0' ? row->method : "-");
    return cells;
}

/* Returns whether a row stands below another heading than the one before it. */
static bool begins_group(const struct machine *machine, size_t i)
{
    const struct machine_parameter *row = &machine->parameters[i];
    return i == 0 || row[-1].level != row->level || row[-1].protocol != row->protocol;
}

int table_print_text(FILE *stream, const struct machine *machine)
{
    static const char *const titles[N_CELLS] = {"quantity", "n", "value", "unit", "95 % interval", "samples", "method"};
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < N_CELLS; i++)
        text_table_column(table, titles[i], i == 1 || i == 2 || i == 5 ? TEXT_RIGHT : i == 6 ? TEXT_CUT : TEXT_LEFT);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        struct cells cells = cells_of(&machine->parameters[i]);
        for (size_t k = 0; k < N_CELLS; k++)
            text_table_widen(table, k, cells.text[k]);
    }
    fprintf(stream, "machine  %s\nsource   ", machine->name);
    help_text_fill(stream, machine->source, 9, 9, terminal_page(stream));
    fputc('\n', stream);
    text_table_print(table, stream);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        struct cells cells = cells_of(&machine->parameters[i]);
        if (begins_group(machine, i)) {
            text_table_print(table, stream);
            fprintf(stream, "%s, %s\n", level_text(machine->parameters[i].level),
                    machine_protocol_name[machine->parameters[i].protocol]);
        }
        for (size_t k = 0; k < N_CELLS; k++)
            text_table_text(table, cells.text[k]);
    }
    text_table_end(table, stream);
    return EXIT_DONE;
}

static struct json *parameter_json(const struct machine_parameter *row)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:f, s:s, s:o, s:o, s:I, s:s}", "level", level_text(row->level), "protocol",
                     machine_protocol_name[row->protocol], "quantity", row->quantity, "n",
                     row->n == MACHINE_NO_N ? json_null() : json_integer((int64_t)row->n), "value", row->value, "unit",
                     row->unit, "ci_low", json_finite(row->ci_low), "ci_high", json_finite(row->ci_high), "samples",
                     (int64_t)row->samples, "method", row->method);
}

/* Releases value. Returns an exit code, as the next one. */
static int table_print_value(FILE *stream, struct json *value)
{
    struct error error;
    return json_write(stream, value, &error) == 0 ? EXIT_DONE : error_report(&error);
}

static int table_print_json(FILE *stream, const struct machine *machine)
{
    struct json *parameters = json_array();
    for (size_t i = 0; i < machine->n_parameters; i++)
        json_add(parameters, parameter_json(&machine->parameters[i]));
    return table_print_value(stream, json_pack("{s:s, s:s, s:o}", "name", machine->name, "source", machine->source,
                                               "parameters", parameters));
}

struct listing {
    struct json *json; /* NULL: as text */
    const char *where;
};

static void list_text(const char *name, const char *where, const char *source)
{
    unsigned at = (unsigned)printf("%-15s %-8s ", name, where);
    help_text_fill(stdout, source, at, at, terminal_page(stdout));
}

static void list_one(void *context, const char *name, const char *source)
{
    struct listing *listing = context;
    if (listing->json == NULL)
        list_text(name, listing->where, source);
    else
        json_add(listing->json, json_pack("{s:s, s:s, s:s}", "name", name, "where", listing->where, "source", source));
}

static int list_shipped(void *context, const char *name, const char *path, struct error *error)
{
    (void)name;
    struct machine machine;
    if (machine_read(path, &machine, error) != 0)
        return -1;
    list_one(context, machine.name, machine.source);
    machine_release(&machine);
    return 0;
}

int machine_command_list(int argc, char **argv)
{
    bool json = false;
    struct error error;
    const struct option_row rows[] = {{0, "json", NULL, "print JSON", .flag = &json}};
    const struct option_table table = {.command = "machine list",
                                       .words = {WORDS_TRACE},
                                       .usage = "usage: mpistair machine list [--json] [trace.db]\n"
                                                "\n"
                                                "Lists the shipped machines, and those in a trace.\n",
                                       .rows = rows,
                                       .n_rows = 1};
    int code = parse_machine(&table, &argc, &argv, 0, 1, "at most a trace.db");
    if (code != OPTIONS_READ)
        return code;
    sqlite3 *database = NULL;
    if (argc == 1 && database_open(argv[0], false, &database, &error) != 0)
        return error_report(&error);
    struct listing listing = {.json = json ? json_array() : NULL, .where = "shipped"};
    int result = installation_each("machines", ".tbl", list_shipped, &listing, &error);
    listing.where = "database";
    if (result == 0 && database != NULL)
        result = machine_each(database, argv[0], list_one, &listing, &error);
    sqlite3_close(database);
    if (result == 0 && json)
        return table_print_value(stdout, listing.json);
    json_release(listing.json);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int machine_command_show(int argc, char **argv)
{
    const char *database = NULL, *plot = NULL, *raw = NULL;
    bool json = false;
    struct error error;
    struct subject subject = {.has_samples = false};
    const struct option_row rows[] = {
        {0, "database", "trace.db", "the trace to search for the machine first", .text = &database},
        {0, "json", NULL, "print JSON", .flag = &json},
        {0, "plot", "FILE.html", "draw the table with its samples", .text = &plot},
        {0, "raw", "RAW.csv", "the samples to draw; default: FILE.raw.csv beside FILE.tbl", .text = &raw},
    };
    const struct option_table table = {.command = "machine show",
                                       .words = {WORDS_MACHINE, WORDS_NONE},
                                       .usage = "usage: mpistair machine show NAME|FILE.tbl [OPTIONS]\n"
                                                "\n"
                                                "Prints a machine table.\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0]};
    int code = parse_machine(&table, &argc, &argv, 1, 1, "one machine, NAME or FILE.tbl");
    if (code != OPTIONS_READ)
        return code;
    if (raw != NULL && plot == NULL)
        return wrong_usage("machine show", "--raw requires --plot FILE.html");
    int result = plot != NULL ? subject_read(argv[0], database, raw, &subject, &error)
                              : machine_command_find(argv[0], database, &subject.machine, &error);
    if (result == 0 && plot != NULL)
        result = plot_draw(&subject.machine, &subject.samples, plot, &error);
    code = result == 0 ? EXIT_DONE : error_report(&error);
    if (result == 0 && (plot == NULL || strcmp(plot, "-") != 0))
        code = (json ? table_print_json : table_print_text)(stdout, &subject.machine);
    subject_release(&subject);
    return code;
}

int machine_command_import(int argc, char **argv)
{
    struct error error;
    struct machine machine;
    const struct option_table table = {.command = "machine import",
                                       .words = {WORDS_MACHINE, WORDS_TRACE},
                                       .usage = "usage: mpistair machine import FILE.tbl|NAME trace.db\n"
                                                "\n"
                                                "Stores a machine table in a trace.\n"};
    int code = parse_machine(&table, &argc, &argv, 2, 2, "FILE.tbl or NAME, then trace.db");
    if (code != OPTIONS_READ)
        return code;
    if (machine_find(argv[0], &machine, &error) != 0)
        return error_report(&error);
    sqlite3 *database = NULL;
    int result = database_open(argv[1], true, &database, &error);
    if (result == 0)
        result = machine_store(database, argv[1], &machine, &error);
    sqlite3_close(database);
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int machine_command_export(int argc, char **argv)
{
    const char *output = NULL;
    struct error error;
    struct machine machine;
    const struct option_row rows[] = {{'o', "output", "FILE.tbl", "default: standard output", .text = &output}};
    const struct option_table table = {.command = "machine export",
                                       .words = {WORDS_MACHINE, WORDS_TRACE},
                                       .usage = "usage: mpistair machine export NAME [trace.db] [-o FILE.tbl]\n"
                                                "\n"
                                                "Writes a machine table of a trace, or a shipped one, as text.\n",
                                       .rows = rows,
                                       .n_rows = 1};
    int code = parse_machine(&table, &argc, &argv, 1, 2, "NAME and optionally a trace.db");
    if (code != OPTIONS_READ)
        return code;
    if (machine_command_find(argv[0], argc == 2 ? argv[1] : NULL, &machine, &error) != 0)
        return error_report(&error);
    int result = machine_command_write(output, &machine, &error);
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

/* What the fit was asked for. */
struct fit_request {
    const char *raw, *name, *output, *thresholds;
    int method, statistic;
    bool memory, has_method, has_statistic;
    struct fit_options options;
};

/* Makes a table of messages, or of memory contention. */
static int fit_samples(const struct fit_request *request, struct machine *machine, struct error *error)
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

static int parse_fit(int argc, char **argv, struct fit_request *request)
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
    struct fit_request request = {.raw = NULL};
    struct machine machine = {0};
    int code = parse_fit(argc, argv, &request);
    if (code != OPTIONS_READ)
        return code;
    const char *raw = file_name(request.raw);
    snprintf(machine.name, sizeof machine.name, "%s", request.name);
    if (request.memory)
        snprintf(machine.source, sizeof machine.source, "fitted to %.200s: memory contention", raw);
    else
        snprintf(machine.source, sizeof machine.source,
                 "fitted to %.200s: %s least squares, %s per size, thresholds %.100s", raw,
                 request.method == 0 ? "relative" : "ordinary", request.statistic == 0 ? "median" : "minimum",
                 request.thresholds);
    int result = fit_samples(&request, &machine, &error);
    if (result == 0)
        result = machine_command_write(request.output, &machine, &error);
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
    struct error error;
    struct subject subject;
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
    int code = parse_machine(&table, &argc, &argv, 1, 1, "one machine, NAME or FILE.tbl");
    if (code != OPTIONS_READ)
        return code;
    if (subject_read(argv[0], database, raw, &subject, &error) != 0)
        return error_report(&error);
    code = EXIT_DONE;
    struct verdict verdict = verdict_make(&subject.machine, subject.has_samples ? &subject.samples : NULL);
    if (as_json)
        code = table_print_value(stdout, verdict_json(&verdict));
    else
        print_verdict(&verdict, subject.machine.name, all, subject.has_samples);
    if (strict && verdict.doubts.n > 0)
        code = EXIT_WORK_FAILED;
    verdict_release(&verdict);
    subject_release(&subject);
    return code;
}

/* diff puts the values of two tables side by side: of two pairs of nodes, two days, two versions of an MPI. What the
 * machine did meanwhile (probes) is no value of it. */

static bool is_of_machine(const struct machine_parameter *row)
{
    return strcmp(row->method, "probes") != 0;
}

static const struct machine_parameter *counterpart(const struct machine *machine, const struct machine_parameter *row)
{
    return machine_row(machine, row->level, row->protocol, row->quantity, row->n);
}

static bool has_interval(const struct machine_parameter *row)
{
    return !isnan(row->ci_low) && !isnan(row->ci_high);
}

enum apart { APART_NO, APART_YES, APART_UNKNOWN };

/* Says whether the values differ beyond their intervals. */
static enum apart rows_apart(const struct machine_parameter *a, const struct machine_parameter *b)
{
    if (!has_interval(a) || !has_interval(b))
        return APART_UNKNOWN;
    return a->ci_high < b->ci_low || b->ci_high < a->ci_low ? APART_YES : APART_NO;
}

/* Holds how the values of a compare with those of b, and what only one has. */
struct difference {
    size_t n_both, n_apart, n_unknown, n_only_a, n_only_b;
};

static struct difference count_differences(const struct machine *a, const struct machine *b)
{
    struct difference difference = {0};
    for (size_t i = 0; i < a->n_parameters; i++) {
        const struct machine_parameter *row = &a->parameters[i], *other = counterpart(b, row);
        if (!is_of_machine(row))
            continue;
        difference.n_both += other != NULL;
        difference.n_only_a += other == NULL;
        difference.n_apart += other != NULL && rows_apart(row, other) == APART_YES;
        difference.n_unknown += other != NULL && rows_apart(row, other) == APART_UNKNOWN;
    }
    for (size_t i = 0; i < b->n_parameters; i++)
        difference.n_only_b += is_of_machine(&b->parameters[i]) && counterpart(a, &b->parameters[i]) == NULL;
    return difference;
}

static void diff_row_text(struct text_table *table, const struct machine_parameter *a,
                          const struct machine_parameter *b)
{
    static const char *const words[] = {[APART_NO] = "no", [APART_YES] = "yes", [APART_UNKNOWN] = "-"};
    struct cells cells = cells_of(a), other = cells_of(b);
    text_table_text(table, level_text(a->level));
    text_table_text(table, machine_protocol_name[a->protocol]);
    text_table_text(table, a->quantity);
    text_table_text(table, cells.text[1]);
    text_table_text(table, cells.text[2]);
    text_table_text(table, other.text[2]);
    text_table_text(table, cells.text[3]);
    text_table_real(table, fabs(a->value) > 0 ? b->value / a->value : (double)NAN, 3, "");
    text_table_text(table, words[rows_apart(a, b)]);
}

static int diff_text(const struct machine *a, const struct machine *b)
{
    struct difference difference = count_differences(a, b);
    printf("a  %s\nb  %s\n", a->name, b->name);
    printf("%zu of %zu values differ beyond their intervals", difference.n_apart, difference.n_both);
    if (difference.n_unknown > 0)
        printf("; of %zu an interval is not known", difference.n_unknown);
    if (difference.n_only_a + difference.n_only_b > 0)
        printf("; only in a: %zu, only in b: %zu", difference.n_only_a, difference.n_only_b);
    puts("\n");
    struct text_table *table = text_table_of("<level|<protocol|<quantity|n|a|b|<unit|b / a|<apart");
    for (size_t i = 0; i < a->n_parameters; i++) {
        const struct machine_parameter *row = &a->parameters[i], *other = counterpart(b, row);
        if (is_of_machine(row) && other != NULL)
            diff_row_text(table, row, other);
    }
    text_table_end(table, stdout);
    return EXIT_DONE;
}

static struct json *diff_row_json(const struct machine_parameter *row, const struct machine_parameter *a,
                                  const struct machine_parameter *b)
{
    enum apart apart = a != NULL && b != NULL ? rows_apart(a, b) : APART_UNKNOWN;
    double ratio = a != NULL && b != NULL && fabs(a->value) > 0 ? b->value / a->value : (double)NAN;
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "level", level_text(row->level), "protocol",
                     machine_protocol_name[row->protocol], "quantity", row->quantity, "n",
                     row->n == MACHINE_NO_N ? json_null() : json_integer((int64_t)row->n), "unit", row->unit, "a",
                     json_finite(a != NULL ? a->value : (double)NAN), "b",
                     json_finite(b != NULL ? b->value : (double)NAN), "ratio", json_finite(ratio), "apart",
                     apart == APART_UNKNOWN ? json_null() : json_boolean(apart == APART_YES));
}

static int diff_json(const struct machine *a, const struct machine *b)
{
    struct json *rows = json_array();
    for (size_t i = 0; i < a->n_parameters; i++)
        if (is_of_machine(&a->parameters[i]))
            json_add(rows, diff_row_json(&a->parameters[i], &a->parameters[i], counterpart(b, &a->parameters[i])));
    for (size_t i = 0; i < b->n_parameters; i++)
        if (is_of_machine(&b->parameters[i]) && counterpart(a, &b->parameters[i]) == NULL)
            json_add(rows, diff_row_json(&b->parameters[i], NULL, &b->parameters[i]));
    return table_print_value(stdout, rows);
}

int machine_command_diff(int argc, char **argv)
{
    bool json = false;
    struct error error;
    struct machine a, b;
    const struct option_row rows[] = {{0, "json", NULL, "print JSON", .flag = &json}};
    const struct option_table table = {
        .command = "machine diff",
        .words = {WORDS_MACHINE, WORDS_MACHINE},
        .usage = "usage: mpistair machine diff NAME|A.tbl NAME|B.tbl [--json]\n"
                 "\n"
                 "Prints the values of two tables side by side, and which differ beyond their\n"
                 "95 % intervals: tables of two pairs of nodes tell how far places matter.\n",
        .rows = rows,
        .n_rows = 1};
    int code = parse_machine(&table, &argc, &argv, 2, 2, "two machines, NAME or FILE.tbl each");
    if (code != OPTIONS_READ)
        return code;
    if (machine_find(argv[0], &a, &error) != 0)
        return error_report(&error);
    if (machine_find(argv[1], &b, &error) != 0) {
        machine_release(&a);
        return error_report(&error);
    }
    code = (json ? diff_json : diff_text)(&a, &b);
    machine_release(&a);
    machine_release(&b);
    return code;
}
