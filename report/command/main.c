/* mpistair: runs the command that argv[1] names, and fails where its output did not arrive (a full disk). */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/command/commands.h"
#include "share/base/error.h"
#include "share/base/output_file.h"

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
    return commands_run(argc, argv);
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
        return delivered(commands_help());
    if (argc > 1 && is(argv[1], "--version", "-V")) {
        puts("mpistair " MPISTAIR_VERSION);
        return delivered(EXIT_DONE);
    }
    if (argc > 1 && strcmp(argv[1], "--complete") == 0)
        return delivered(complete(argc - 2, argv + 2));
    return delivered(commands_run(argc, argv));
}
