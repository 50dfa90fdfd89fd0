/* Starts mpistair: finds the command that was asked for and hands over. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/command/complete.h"
#include "share/base/command.h"
#include "share/base/error.h"
#include "share/base/help_text.h"
#include "share/base/output_file.h"

static const struct command commands[] = {
    {"run", cmd_run, "record an MPI job: mpistair run -- mpiexec -n 8 ./app", NULL},
    {"ingest", cmd_ingest, "spools, also of a killed job, to trace.db", NULL},
    {"calibrate", cmd_calibrate, "measure this machine into a machine table", NULL},
    {"finegrain", cmd_finegrain, "is it worth sending the parts of a buffer early?", NULL},
    {"machine", cmd_machine, "list, show, import, export, fit, check machine tables", machine_subcommands},
    {"predict", cmd_predict, "model a recorded run, or a pattern", NULL},
    {"replay", cmd_replay, "the whole run: where its time goes, who is to blame, what if", NULL},
    {"pattern", cmd_pattern, "make a pattern of messages, or tell the statistics of one", NULL},
    {"report", cmd_report, "measured against modelled time per rank", NULL},
    {"diff", cmd_diff, "what changed between two runs, beside the noise", NULL},
    {"query", cmd_query, "a named query, or SQL, on trace.db", NULL},
    {"export", cmd_export, "a trace for Perfetto, Vampir, simulators, Graphviz, as CSV", NULL},
    {"doctor", cmd_doctor, "what works here and what is missing", NULL},
    {.name = NULL},
};

static int help(void)
{
    help_text_line("usage: mpistair COMMAND [ARGUMENTS]\n");
    command_list(commands);
    help_text_line("%s", "");
    help_text_line(
        "'mpistair COMMAND --help' and 'mpistair help COMMAND' explain a command; 'man mpistair' is the manual.");
    return EXIT_DONE;
}

/* Runs COMMAND [SUBCOMMAND] --help. */
static int help_on(int n_words, char **words)
{
    char *argv[4] = {words[-1]};
    int argc = 1;
    while (argc < 3 && argc <= n_words) {
        argv[argc] = words[argc - 1];
        argc++;
    }
    argv[argc++] = (char[]){"--help"};
    return command_run(commands, "", argc, argv);
}

/* Returns the exit code of a command; work whose output did not arrive has failed, and what failed before stays so. */
static int delivered(int code)
{
    struct error error;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    output_failed(stdout, "standard output", &error);
    int undelivered = error_report(&error);
    return code == EXIT_DONE ? undelivered : code;
}

static bool is(const char *word, const char *name, const char *other)
{
    return strcmp(word, name) == 0 || strcmp(word, other) == 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "help") == 0)
        return delivered(help_on(argc - 2, argv + 2));
    if (argc > 1 && (is(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0))
        return delivered(help());
    if (argc > 1 && is(argv[1], "--version", "-V")) {
        puts("mpistair " MPISTAIR_VERSION);
        return delivered(EXIT_DONE);
    }
    if (argc > 1 && strcmp(argv[1], "--complete") == 0)
        return delivered(complete(commands, argc - 2, argv + 2));
    return delivered(command_run(commands, "", argc, argv));
}
