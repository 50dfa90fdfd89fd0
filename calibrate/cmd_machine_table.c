/* mpistair machine list, show, import, export. show --plot draws a picture besides. */
#include <dirent.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/samples_csv.h"
#include "calibrate/cmd_machine.h"
#include "interpose/database/database.h"
#include "share/base/installation.h"
#include "calibrate/machine_database.h"
#include "share/base/output_file.h"
#include "calibrate/plot/plot.h"
#include "calibrate/table_print.h"

/* What the four subcommands are given: options, then up to two words. */
struct request {
    const char *database;
    const char *output;
    const char *plot;
    const char *raw;
    bool json;
    const char *words[2];
    int n_words;
};

/* allowed: letters of the options of this subcommand, j(son), d(atabase), o(utput), p(lot), r(aw). 0 or
 * EXIT_WRONG_USAGE. */
static int parse(int argc, char **argv, const char *allowed, int min_words, int max_words, const char *expected,
                 struct request *request)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},         {"database", required_argument, NULL, 'd'},
        {"output", required_argument, NULL, 'o'}, {"plot", required_argument, NULL, 'p'},
        {"raw", required_argument, NULL, 'r'},    {NULL, 0, NULL, 0}};
    *request = (struct request){0};
    opterr = 0;
    optind = 1;
    for (int option; (option = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
        if (option == '?' || strchr(allowed, option) == NULL)
            return wrong_usage("machine", "%s: option '%s' is not known or lacks its value", argv[0], argv[optind - 1]);
        if (option == 'j')
            request->json = true;
        else if (option == 'd')
            request->database = optarg;
        else if (option == 'p')
            request->plot = optarg;
        else if (option == 'r')
            request->raw = optarg;
        else
            request->output = optarg;
    }
    request->n_words = argc - optind;
    if (request->n_words < min_words || request->n_words > max_words)
        return wrong_usage("machine", "%s: expected %s", argv[0], expected);
    for (int i = 0; i < request->n_words; i++)
        request->words[i] = argv[optind + i];
    return 0;
}

struct listing {
    json_t *json; /* NULL: as text */
    const char *where;
};

static void list_one(void *context, const char *name, const char *source)
{
    struct listing *listing = context;
    if (listing->json == NULL)
        printf("%-20s %-9s %s\n", name, listing->where, source);
    else
        json_array_append_new(listing->json,
                              json_pack("{s:s, s:s, s:s}", "name", name, "where", listing->where, "source", source));
}

static int is_table(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && dot > entry->d_name && strcmp(dot, ".tbl") == 0;
}

static int list_shipped(struct listing *listing, struct error *error)
{
    char folder[PATH_MAX];
    struct dirent **entries = NULL;
    if (installation_find(INSTALLATION_SHARE, "machines", folder, sizeof folder, error) != 0)
        return -1;
    int n = scandir(folder, &entries, is_table, alphasort), result = 0;
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX + NAME_MAX + 2];
        struct machine machine;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (result == 0 && (result = machine_read(path, &machine, error)) == 0) {
            list_one(listing, machine.name, machine.source);
            machine_release(&machine);
        }
        free(entries[i]);
    }
    free(entries);
    return n < 0 ? error_set(error, "%s: cannot be read", folder) : result;
}

int machine_command_list(int argc, char **argv)
{
    struct request request;
    struct error error;
    int code = parse(argc, argv, "j", 0, 1, "at most a trace.db", &request);
    if (code != 0)
        return code;
    sqlite3 *database = NULL;
    if (request.n_words == 1 && database_open(request.words[0], false, &database, &error) != 0)
        return error_report(&error);
    struct listing listing = {.json = request.json ? json_array() : NULL, .where = "shipped"};
    int result = list_shipped(&listing, &error);
    listing.where = "database";
    if (result == 0 && database != NULL)
        result = machine_each(database, request.words[0], list_one, &listing, &error);
    sqlite3_close(database);
    if (result == 0 && request.json)
        return table_print_value(stdout, listing.json);
    json_decref(listing.json);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

/* Draws the machine and the samples that belong to it. */
static int draw(const struct request *request, const struct machine *machine)
{
    struct samples samples = {0};
    struct error error;
    char beside[PATH_MAX];
    const char *raw = request->raw != NULL ? request->raw : machine_command_raw(request->words[0], beside);
    int result = raw != NULL ? samples_read_csv(raw, &samples, &error) : 0;
    if (result == 0)
        result = plot_draw(machine, &samples, request->plot, &error);
    samples_release(&samples);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int machine_command_show(int argc, char **argv)
{
    struct request request;
    struct error error;
    struct machine machine;
    int code = parse(argc, argv, "jdpr", 1, 1, "one NAME or FILE.tbl", &request);
    if (code != 0)
        return code;
    if (request.raw != NULL && request.plot == NULL)
        return wrong_usage("machine", "show: --raw is for --plot FILE.svg");
    if (machine_command_find(request.words[0], request.database, &machine, &error) != 0)
        return error_report(&error);
    if (request.plot != NULL)
        code = draw(&request, &machine);
    bool printed = request.plot == NULL || strcmp(request.plot, "-") != 0;
    if (code == EXIT_DONE && printed && request.json)
        code = table_print_json(stdout, &machine);
    else if (code == EXIT_DONE && printed)
        table_print_text(stdout, &machine);
    machine_release(&machine);
    return code;
}

int machine_command_import(int argc, char **argv)
{
    struct request request;
    struct error error;
    struct machine machine;
    int code = parse(argc, argv, "", 2, 2, "FILE.tbl or NAME, then trace.db", &request);
    if (code != 0)
        return code;
    if (machine_find(request.words[0], &machine, &error) != 0)
        return error_report(&error);
    sqlite3 *database = NULL;
    int result = database_open(request.words[1], true, &database, &error);
    if (result == 0)
        result = machine_store(database, request.words[1], &machine, &error);
    sqlite3_close(database);
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}

int machine_command_export(int argc, char **argv)
{
    struct request request;
    struct error error;
    struct machine machine;
    struct output_file file;
    int code = parse(argc, argv, "o", 1, 2, "NAME and perhaps a trace.db", &request);
    if (code != 0)
        return code;
    if (machine_command_find(request.words[0], request.n_words == 2 ? request.words[1] : NULL, &machine, &error) != 0)
        return error_report(&error);
    int result = output_file_open(&file, request.output, &error);
    if (result == 0) {
        machine_write(file.stream, &machine);
        result = output_file_commit(&file, &error);
    }
    machine_release(&machine);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
