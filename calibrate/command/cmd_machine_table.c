/* Runs `mpistair machine list`, `show`, `import` and `export`. show --plot draws charts besides. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/samples/samples.h"
#include "calibrate/command/cmd_machine.h"
#include "interpose/database/database.h"
#include "share/base/installation.h"
#include "calibrate/machine/machine_database.h"
#include "share/base/help_text.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "share/base/terminal.h"
#include "calibrate/plot/plot.h"
#include "calibrate/command/table_print.h"

/* Reads options, then from least_words to most_words words. Returns OPTIONS_READ, or the exit code. */
static int parse(const struct option_table *table, int *argc, char ***argv, int least_words, int most_words,
                 const char *expected)
{
    int code = options_read(table, argc, argv);
    if (code == OPTIONS_READ && (*argc < least_words || *argc > most_words))
        return wrong_usage(table->command, "expected %s", expected);
    return code;
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
    int code = parse(&table, &argc, &argv, 0, 1, "at most a trace.db");
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

/* Draws the machine and its samples, raw (NULL: none). */
static int draw(const struct machine *machine, const char *raw, const char *plot)
{
    struct samples samples = {0};
    struct error error;
    int result = raw != NULL ? samples_read_csv(raw, &samples, &error) : 0;
    if (result == 0)
        result = plot_draw(machine, &samples, plot, &error);
    samples_release(&samples);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int machine_command_show(int argc, char **argv)
{
    const char *database = NULL, *plot = NULL, *raw = NULL;
    bool json = false;
    char beside[PATH_MAX];
    struct error error;
    struct machine machine;
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
    int code = parse(&table, &argc, &argv, 1, 1, "one machine, NAME or FILE.tbl");
    if (code != OPTIONS_READ)
        return code;
    if (raw != NULL && plot == NULL)
        return wrong_usage("machine show", "--raw requires --plot FILE.html");
    if (machine_command_find(argv[0], database, &machine, &error) != 0)
        return error_report(&error);
    if (raw == NULL)
        raw = machine_command_raw(argv[0], beside);
    code = plot != NULL ? draw(&machine, raw, plot) : EXIT_DONE;
    bool printed = plot == NULL || strcmp(plot, "-") != 0;
    if (code == EXIT_DONE && printed && json)
        code = table_print_json(stdout, &machine);
    else if (code == EXIT_DONE && printed)
        code = table_print_text(stdout, &machine);
    machine_release(&machine);
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
    int code = parse(&table, &argc, &argv, 2, 2, "FILE.tbl or NAME, then trace.db");
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
    struct output_file file;
    const struct option_row rows[] = {{'o', "output", "FILE.tbl", "default: standard output", .text = &output}};
    const struct option_table table = {.command = "machine export",
                                       .words = {WORDS_MACHINE, WORDS_TRACE},
                                       .usage = "usage: mpistair machine export NAME [trace.db] [-o FILE.tbl]\n"
                                                "\n"
                                                "Writes a machine table of a trace, or a shipped one, as text.\n",
                                       .rows = rows,
                                       .n_rows = 1};
    int code = parse(&table, &argc, &argv, 1, 2, "NAME and optionally a trace.db");
    if (code != OPTIONS_READ)
        return code;
    if (machine_command_find(argv[0], argc == 2 ? argv[1] : NULL, &machine, &error) != 0)
        return error_report(&error);
    int result = output_file_open(&file, output, &error);
    if (result == 0) {
        machine_write(file.stream, &machine);
        result = output_file_commit(&file, &error);
    }
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
