/* Temporary tables of the connection that a report is read by, so that long tables are gone through once. */
#ifndef MPISTAIR_REPORT_WORKING_TABLES_H
#define MPISTAIR_REPORT_WORKING_TABLES_H

#include <sqlite3.h>

#include "error.h"

/* Makes temp.incoming(level, dst, n, bytes), temp.outgoing(src, n, bytes), the sums over all messages by level and
 * receiver, and by sender; and puts tables in the place of the views kind_actual and kind_halves, for the other views
 * too. SQLite keeps them outside of the trace, on disk where they are large. 0, or -1 with the reason. */
int working_tables_make(sqlite3 *database, const char *path, struct error *error);

#endif
