/* mpistair and those of its commands that have subcommands are tables of names. */
#include "share/base/command.h"

#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/help_text.h"
#include "share/base/nearest.h"
#include "share/base/terminal.h"

const struct command *command_find(const struct command *commands, const char *name)
{
    for (; commands->name != NULL; commands++)
        if (strcmp(commands->name, name) == 0)
            return commands;
    return NULL;
}

/* Appends "a, b or c" to a text of bytes. */
static void append_names(char *text, size_t bytes, const struct command *commands)
{
    for (; commands->name != NULL; commands++) {
        size_t used = strlen(text);
        const char *join = commands[1].name == NULL ? "" : commands[2].name == NULL ? " or " : ", ";
        snprintf(text + used, bytes - used, "%s%s", commands->name, join);
    }
}

int command_run(const struct command *commands, const char *of, int argc, char **argv)
{
    const char *kind = of[0] != '\0' ? "subcommand" : "command";
    const struct command *command = argc > 1 ? command_find(commands, argv[1]) : NULL;
    char expected[256] = "";
    if (command != NULL)
        return command->run(argc - 1, argv + 1);
    append_names(expected, sizeof expected, commands);
    if (argc < 2)
        return wrong_usage(of, "expected a %s: %s", kind, expected);
    struct nearest nearest = nearest_to(argv[1]);
    for (; commands->name != NULL; commands++)
        nearest_add(&nearest, commands->name);
    const char *hint = nearest_hint(&nearest);
    if (hint[0] != '\0')
        return wrong_usage(of, "no %s '%.40s'%s", kind, argv[1], hint);
    return wrong_usage(of, "no %s '%.40s': expected %s", kind, argv[1], expected);
}

void command_list(const struct command *commands)
{
    for (; commands->name != NULL; commands++)
        help_text_line("  %-10s  %s", commands->name, commands->summary);
}
