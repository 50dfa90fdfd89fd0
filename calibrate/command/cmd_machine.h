/* The commands that measure a machine, and the subcommands of `mpistair machine`. argv[0] is the name; each returns the
 * exit code. */
#ifndef MPISTAIR_CALIBRATE_CMD_MACHINE_H
#define MPISTAIR_CALIBRATE_CMD_MACHINE_H

#include <stdio.h>

#include "calibrate/machine/machine.h"

int cmd_calibrate(int argc, char **argv);
int cmd_finegrain(int argc, char **argv);
int machine_command_list(int argc, char **argv);
int machine_command_show(int argc, char **argv);
int machine_command_import(int argc, char **argv);
int machine_command_export(int argc, char **argv);
int machine_command_fit(int argc, char **argv);
int machine_command_check(int argc, char **argv);
int machine_command_diff(int argc, char **argv);

/* Writes a table to a file; NULL or "-": standard output. Returns 0, or -1 with the reason. */
int machine_command_write(const char *path, const struct machine *machine, struct error *error);

/* Prints a machine table for people: units that read well, aligned. Returns EXIT_DONE. */
int table_print_text(FILE *stream, const struct machine *machine);

#endif
