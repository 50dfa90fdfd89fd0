/* Finds the table that an argument of a subcommand of `mpistair machine` names, and the samples beside it. */
#include "calibrate/command/cmd_machine.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "calibrate/samples/memory_samples.h"
#include "calibrate/machine/machine_database.h"

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
    return access(path, R_OK) == 0 && !memory_samples_are_in(path) ? path : NULL;
}
