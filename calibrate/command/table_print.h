/* Prints a machine table for people (units that read well, aligned) and for scripts (JSON). */
#ifndef MPISTAIR_CALIBRATE_TABLE_PRINT_H
#define MPISTAIR_CALIBRATE_TABLE_PRINT_H

#include <stdio.h>

#include "calibrate/machine/machine.h"
#include "share/base/json.h"

/* Return an exit code, after an error message where it is not EXIT_DONE. */
int table_print_text(FILE *stream, const struct machine *machine);
int table_print_json(FILE *stream, const struct machine *machine);
/* Releases value. */
int table_print_value(FILE *stream, struct json *value);

#endif
