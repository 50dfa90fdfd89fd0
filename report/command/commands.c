/* mpistair, and each command that has subcommands, is a table of names. */
#include "report/command/commands.h"

#include <stdio.h>
#include <string.h>

#include "calibrate/command/cmd_machine.h"
#include "interpose/record_commands.h"
#include "predictor/predict_commands.h"
#include "share/base/error.h"
#include "share/base/terminal.h"
#include "share/base/nearest.h"

static const struct command machine_subcommands[] = {
    {"list", machine_command_list, "list shipped machines, and those in a trace", NULL},
    {"show", machine_command_show, "print or draw a table", NULL},
    {"import", machine_command_import, "store a table in a trace", NULL},
    {"export", machine_command_export, "write a table of a trace, or a shipped one, as text", NULL},
    {"fit", machine_command_fit, "fit a table to samples", NULL},
    {"check", machine_command_check, "what a table can be used for, and what is suspicious", NULL},
    {"diff", machine_command_diff, "what differs between two tables, as of two pairs of nodes", NULL},
    {.name = NULL},
};

const struct command commands[] = {
    {"run", cmd_run, "record an MPI job: mpistair run -- mpiexec -n 8 ./app", NULL},
    {"ingest", cmd_ingest, "make a trace from spools, even of a killed job", NULL},
    {"gather", cmd_gather, "make one file of a trace and its shards", NULL},
    {"import", cmd_import, "make a trace from one of Score-P, DUMPI, LogGOPSim, SimGrid", NULL},
    {"calibrate", cmd_calibrate, "measure this machine into a machine table", NULL},
    {"finegrain", cmd_finegrain, "measure whether sending parts of a buffer early pays off", NULL},
    {"machine", cmd_machine, "list, show, import, export, fit, check machine tables", machine_subcommands},
    {"predict", cmd_predict, "run cost models on a trace or a pattern", NULL},
    {"replay", cmd_replay, "replay the whole run: time, blame, critical path, what if", NULL},
    {"pattern", cmd_pattern, "generate a message pattern, or extract one from a trace", NULL},
    {"report", cmd_report, "where the time of a recorded job went", NULL},
    {"diff", cmd_diff, "what changed between runs by more than noise", NULL},
    {"scaling", cmd_scaling, "how a job scales over runs on more and more ranks", NULL},
    {"history", cmd_history, "since which version of a job it, or a call site, is slower", NULL},
    {"query", cmd_query, "run a named query or SQL on a trace", NULL},
    {"export", cmd_export, "write a trace for Perfetto, Vampir, simulators, Graphviz, CSV", NULL},
    {"doctor", cmd_doctor, "check what recording needs on this machine", NULL},
    {.name = NULL},
};

const struct command *command_find(const struct command *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* Appends "a, b or c" to a text of bytes. */
static void append_names(char *text, size_t bytes, const struct command *table)
{
    for (; table->name != NULL; table++) {
        size_t used = strlen(text);
        const char *join = table[1].name == NULL ? "" : table[2].name == NULL ? " or " : ", ";
        snprintf(text + used, bytes - used, "%s%s", table->name, join);
    }
}

/* Runs the command of a table that argv[1] names, or lists those there are. of: the command they belong to, "machine"
 * or "" for mpistair itself. */
static int run_of_table(const struct command *table, const char *of, int argc, char **argv)
{
    const char *kind = of[0] != '\0' ? "subcommand" : "command";
    const struct command *command = argc > 1 ? command_find(table, argv[1]) : NULL;
    char expected[256] = "";
    if (command != NULL)
        return command->run(argc - 1, argv + 1);
    append_names(expected, sizeof expected, table);
    if (argc < 2)
        return wrong_usage(of, "expected a %s: %s", kind, expected);
    struct nearest nearest = nearest_to(argv[1]);
    for (; table->name != NULL; table++)
        nearest_add(&nearest, table->name);
    const char *hint = nearest_hint(&nearest);
    if (hint[0] != '\0')
        return wrong_usage(of, "no %s '%.40s'%s", kind, argv[1], hint);
    return wrong_usage(of, "no %s '%.40s': expected %s", kind, argv[1], expected);
}

static void list(const struct command *table)
{
    for (; table->name != NULL; table++)
        help_text_line("  %-10s  %s", table->name, table->summary);
}

int commands_run(int argc, char **argv)
{
    return run_of_table(commands, "", argc, argv);
}

int commands_help(void)
{
    help_text_line("usage: mpistair COMMAND [ARGUMENTS]\n");
    list(commands);
    help_text_line("%s", "");
    help_text_line(
        "'mpistair COMMAND --help' and 'mpistair help COMMAND' explain a command; 'man mpistair' is the manual.");
    return EXIT_DONE;
}

int cmd_machine(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
        return run_of_table(machine_subcommands, "machine", argc, argv);
    help_text_line("usage: mpistair machine SUBCOMMAND [ARGUMENTS]\n"
                   "\n"
                   "Machine tables hold the results of calibrations. Models need one.\n");
    list(machine_subcommands);
    help_text_line("\n'mpistair machine SUBCOMMAND --help' explains a subcommand.");
    return EXIT_DONE;
}
