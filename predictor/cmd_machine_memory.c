/* Runs `mpistair machine memory`: says what computing cores and messages leave each other, by their number and where
 * the data are. */
#include "predictor/predict_commands.h"

#include "calibrate/command/cmd_machine.h"
#include "predictor/memory/memory_run.h"
#include "share/base/options.h"

struct memory_request {
    const char *database;
    uint64_t computing; /* 0: all numbers of cores */
    bool json;
};

static int parse_machine_memory(int *argc, char ***argv, struct memory_request *request)
{
    *request = (struct memory_request){0};
    const struct option_row rows[] = {
        {0, "computing", "N", "number of computing cores; default: a row for every number",
         .whole = &request->computing, .least = 1, .most = UINT32_MAX},
        {0, "database", "trace.db", "the trace to search for the machine first", .text = &request->database},
        {0, "json", NULL, "print JSON", .flag = &request->json},
    };
    const struct option_table table = {.command = "machine memory",
                                       .words = {WORDS_MACHINE, WORDS_NONE},
                                       .usage = "usage: mpistair machine memory NAME|FILE.tbl [OPTIONS]\n"
                                                "\n"
                                                "Prints the memory bandwidth of N computing cores of a socket and of a "
                                                "message being received, together and each alone,\n"
                                                "by the NUMA nodes of their data.\n",
                                       .rows = rows,
                                       .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, argc, argv);
    return code == OPTIONS_READ && *argc != 1 ? wrong_usage("machine memory", "expected one machine, NAME or FILE.tbl")
                                              : code;
}

int machine_command_memory(int argc, char **argv)
{
    struct memory_request request;
    struct error error;
    struct machine machine;
    int code = parse_machine_memory(&argc, &argv, &request);
    if (code != OPTIONS_READ)
        return code;
    if (machine_command_find(argv[0], request.database, &machine, &error) != 0)
        return error_report(&error);
    const struct memory_options options = {.cores_given = request.computing > 0, .cores = request.computing};
    const struct memory_question question = {&options, "--computing", MEMORY_SIDES,
                                             request.json ? FORMAT_JSON : FORMAT_TEXT, NULL};
    code = memory_answer(&question, &machine, &error) == 0 ? EXIT_DONE : error_report(&error);
    machine_release(&machine);
    return code;
}
