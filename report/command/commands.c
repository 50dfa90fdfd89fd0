/* Runs `mpistair machine`: finds the subcommand that was asked for and hands over. */
#include <string.h>

#include "calibrate/command/cmd_machine.h"
#include "predictor/cmd_machine_memory.h"
#include "share/base/command.h"
#include "share/base/help_text.h"

const struct command machine_subcommands[] = {
    {"list", machine_command_list, "the shipped machines, and those in a database", NULL},
    {"show", machine_command_show, "a table, readable, or a picture of it", NULL},
    {"import", machine_command_import, "puts a table into a database", NULL},
    {"export", machine_command_export, "a table out of a database, or a shipped one, as text", NULL},
    {"fit", machine_command_fit, "a table from samples", NULL},
    {"check", machine_command_check, "what is suspicious in a table", NULL},
    {"memory", machine_command_memory, "the memory bandwidth that cores and messages leave each other", NULL},
    {.name = NULL},
};

int cmd_machine(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
        return command_run(machine_subcommands, "machine", argc, argv);
    help_text_line("usage: mpistair machine SUBCOMMAND [ARGUMENTS]\n\nTables of machines, which the models need.\n");
    command_list(machine_subcommands);
    help_text_line("\n'mpistair machine SUBCOMMAND --help' explains a subcommand.");
    return EXIT_DONE;
}
