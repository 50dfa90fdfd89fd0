/* Makes temporary tables of the connection from which sums are read, so that long tables are gone through once. */
#ifndef MPISTAIR_SUMS_WORKING_TABLES_H
#define MPISTAIR_SUMS_WORKING_TABLES_H

#include <sqlite3.h>

#include "share/base/error.h"

/* Makes these tables; SQLite keeps them outside of the trace, on disk where they are large. While they are made, each
 * rank of a round takes 32 bytes. Returns 0, or -1 with the reason.
 *
 *     temp.incoming(level, dst, n, bytes)   sums over all messages by level and receiver
 *     temp.outgoing(src, n, bytes)          sums over all messages by sender
 *     temp.heaviest_kind                    the heaviest kinds' rows of kind_summary
 *     temp.kind_actual, kind_in_mpi,        in the place of the views of these names, for the other views too
 *       kind_halves, round_wait,
 *       rank_actual, rank_late
 *     temp.concurrent(share)                see concurrent_rounds.h
 *     temp.late_form(cause, rank, partner,  the view late_partner, by form
 *       form, messages, late_ns, longest_ns)
 */
int working_tables_make(sqlite3 *database, const char *path, struct error *error);
/* Makes only those that need no message: kind_actual, kind_in_mpi, kind_halves, round_wait, rank_actual and concurrent.
 */
int working_tables_of_rounds(sqlite3 *database, const char *path, struct error *error);

#endif
