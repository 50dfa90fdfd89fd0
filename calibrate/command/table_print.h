/* Prints a machine table for people (units that read well, aligned) and for scripts (JSON). */
#ifndef MPISTAIR_CALIBRATE_TABLE_PRINT_H
#define MPISTAIR_CALIBRATE_TABLE_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "calibrate/machine/machine.h"

/* Return an exit code, after an error message where it is not EXIT_DONE. */
int table_print_text(FILE *stream, const struct machine *machine);
int table_print_json(FILE *stream, const struct machine *machine);
/* Takes the reference to value; NULL counts as an error. */
int table_print_value(FILE *stream, json_t *value);

#endif
