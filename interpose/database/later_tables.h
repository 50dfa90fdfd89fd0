/* Makes the tables that came to the schema after traces of the same version had been written. */
#ifndef MPISTAIR_DATABASE_LATER_TABLES_H
#define MPISTAIR_DATABASE_LATER_TABLES_H

#include <sqlite3.h>

#include "share/base/error.h"

/* Executes the last part of schema.sql, which leaves tables alone that are there. Returns 0, or -1 with the reason. */
int later_tables_make(sqlite3 *database, const char *path, struct error *error);

#endif
