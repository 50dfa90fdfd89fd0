/* mpistair machine: finds the subcommand that was asked for and hands over. */
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
    const char *usage;
} subcommands[] = {
    {"list", machine_command_list, "list [--json] [trace.db]\n      the shipped machines, and those in a database"},
    {"show", machine_command_show,
     "show NAME|FILE.tbl [--database trace.db] [--json] [--plot FILE.svg [--raw RAW.csv]]\n"
     "      a table, readable; --plot draws it with its samples, which are looked for beside FILE.tbl (FILE.raw.csv)"},
    {"import", machine_command_import, "import FILE.tbl|NAME trace.db\n      puts a table into a database"},
    {"export", machine_command_export,
     "export NAME [trace.db] [-o FILE.tbl]\n      a table out of a database, or a shipped one, as text"},
    {"fit", machine_command_fit,
     "fit RAW.csv --name N [-o OUT.tbl] [--method relative|ols] [--statistic median|min]\n"
     "          [--thresholds auto|0,256,16384]\n"
     "      a table from samples: header with level,bytes,seconds, optional n; thresholds are the smallest sizes of\n"
     "      short, eager, rendezvous in order, a single 0 makes one protocol of all"},
    {"check", machine_command_check,
     "check NAME|FILE.tbl [--database trace.db] [--raw RAW.csv] [--json] [--strict]\n"
     "      what is suspicious in a table; samples are looked for beside FILE.tbl (FILE.raw.csv); --strict: exit 1\n"
     "      if anything is"},
    {"memory", machine_command_memory,
     "memory NAME|FILE.tbl [--computing N] [--database trace.db] [--json]\n"
     "      the memory bandwidth that N computing cores of a socket and a message that is received leave each other, "
     "by\n"
     "      where their data are; without N for every number of cores"},
};

static void usage(FILE *stream)
{
    fputs("usage: mpistair machine SUBCOMMAND ...\n", stream);
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        fprintf(stream, "\n  mpistair machine %s\n", subcommands[i].usage);
}

int cmd_machine(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_WRONG_USAGE;
    }
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            usage(stdout);
            return EXIT_DONE;
        }
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
