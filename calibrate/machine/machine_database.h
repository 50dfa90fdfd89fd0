/* Keeps machine tables in a trace.db: in the tables machine and machine_parameter. */
#ifndef MPISTAIR_CALIBRATE_MACHINE_DATABASE_H
#define MPISTAIR_CALIBRATE_MACHINE_DATABASE_H

#include <sqlite3.h>

#include "calibrate/machine/machine.h"

/* Stores a machine, in a transaction of its own. A machine of the same name is replaced if it differs, and the
 * predictions that were made with it are deleted, as they would no longer be those of the machine. path is for
 * messages. Returns 0, or -1 with the reason and the database unchanged. */
int machine_store(sqlite3 *database, const char *path, const struct machine *machine, struct error *error);

/* Reads a machine, for machine_release. Returns 0; 1 where there is none of that name, without an error; -1 with the
 * reason. */
int machine_load(sqlite3 *database, const char *path, const char *name, struct machine *machine, struct error *error);

/* Calls each for the name and source of every machine, by name. Returns 0, or -1 with the reason. */
int machine_each(sqlite3 *database, const char *path, void (*each)(void *context, const char *name, const char *source),
                 void *context, struct error *error);

/* Finds the machine of that name in the trace, a shipped one, or a .tbl file; wanted NULL means the only machine of the
 * trace. Returns 0, or -1 with the reason. */
int machine_of_trace(const char *trace, sqlite3 *database, const char *wanted, struct machine *machine,
                     struct error *error);

#endif
