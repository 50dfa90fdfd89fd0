/* Temporary tables of the connection that sums are read by, so that long tables are gone through once. */
#ifndef MPISTAIR_SUMS_WORKING_TABLES_H
#define MPISTAIR_SUMS_WORKING_TABLES_H

#include <sqlite3.h>

#include "share/base/error.h"

/* Kinds of round that a report shows. A macro, since it stands in the text of a query. */
#define HEAVIEST_KINDS 10

/* Makes temp.incoming(level, dst, n, bytes), temp.outgoing(src, n, bytes), the sums over all messages by level and
 * receiver, and by sender; temp.heaviest_kind, those rows of kind_summary; and puts tables in the place of the views
 * kind_actual, kind_in_mpi, kind_halves, round_wait, rank_actual and rank_late, for the other views too; and
 * temp.concurrent(share), see concurrent_rounds.h, and temp.late_form(cause, rank, partner, form, messages, late_ns,
 * longest_ns), as late_partner by form. SQLite keeps them outside of the trace, on disk where they are large; while
 * they are made each rank of a round takes 32 bytes. 0, or -1 with the reason. */
int working_tables_make(sqlite3 *database, const char *path, struct error *error);
/* Only those that need no message: kind_actual, kind_in_mpi, kind_halves, round_wait, rank_actual and concurrent. */
int working_tables_of_rounds(sqlite3 *database, const char *path, struct error *error);

#endif
