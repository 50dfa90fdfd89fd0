/* Starts mpistair: finds the command that was asked for and hands over. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "share/base/command.h"
#include "share/base/error.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", cmd_run, "record an MPI job: mpistair run -- mpiexec -n 8 ./app"},
    {"ingest", cmd_ingest, "spools, also of a killed job, to trace.db"},
    {"calibrate", cmd_calibrate, "measure this machine into a machine table"},
    {"machine", cmd_machine, "list, show, import, export, fit, check machine tables"},
    {"predict", cmd_predict, "model a recorded run, or a pattern"},
    {"replay", cmd_replay, "the whole run: where its time goes, who is to blame, what if"},
    {"pattern", cmd_pattern, "make a pattern of messages, or tell the statistics of one"},
    {"report", cmd_report, "measured against modelled time per rank"},
    {"query", cmd_query, "a named query, or SQL, on trace.db"},
    {"doctor", cmd_doctor, "what works here and what is missing"},
};

static void usage(FILE *stream)
{
    fputs("usage: mpistair COMMAND [ARGUMENTS]\n\n", stream);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'mpistair COMMAND --help' explains a command.\n", stream);
}

/* Returns the exit code of a command; work whose output did not arrive has failed, and what failed before stays so. */
static int delivered(int code)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    int undelivered =
        fail("standard output: cannot be written: %s", errno != 0 ? strerror(errno) : "an earlier write failed");
    return code == EXIT_DONE ? undelivered : code;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_WRONG_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return delivered(EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("mpistair " MPISTAIR_VERSION);
        return delivered(EXIT_DONE);
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return delivered(commands[i].run(argc - 1, argv + 1));
    fprintf(stderr, "mpistair: no command '%s'; see 'mpistair --help'\n", argv[1]);
    return EXIT_WRONG_USAGE;
}
