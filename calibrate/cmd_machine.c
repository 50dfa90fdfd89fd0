/* Runs `mpistair machine`: finds the subcommand that was asked for and hands over. */
#include "calibrate/cmd_machine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/command.h"
#include "interpose/database/database.h"
#include "calibrate/machine_database.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
    {"list", machine_command_list},     {"show", machine_command_show}, {"import", machine_command_import},
    {"export", machine_command_export}, {"fit", machine_command_fit},   {"check", machine_command_check},
    {"memory", machine_command_memory},
};

/* Each subcommand explains itself. */
static int usage(void)
{
    char name[16], help[] = "--help";
    puts("usage: mpistair machine SUBCOMMAND ...");
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        putchar('\n');
        snprintf(name, sizeof name, "%s", subcommands[i].name);
        subcommands[i].run(2, (char *[]){name, help, NULL});
    }
    return EXIT_DONE;
}

int cmd_machine(int argc, char **argv)
{
    if (argc < 2)
        return wrong_usage(argv[0], "expected a subcommand: list, show, import, export, fit, check or memory");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return usage();
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].run(argc - 1, argv + 1);
    return wrong_usage(argv[0], "no subcommand '%s': expected list, show, import, export, fit, check or memory",
                       argv[1]);
}

int machine_command_find(const char *name, const char *database, struct machine *machine, struct error *error)
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

const char *machine_command_raw(const char *table, char *path)
{
    size_t length = strlen(table);
    if (length < 5 || strcmp(table + length - 4, ".tbl") != 0 ||
        snprintf(path, PATH_MAX, "%.*s.raw.csv", (int)(length - 4), table) >= PATH_MAX)
        return NULL;
    return access(path, R_OK) == 0 ? path : NULL;
}
