/* Temporary tables of what a report asks for several times and no trace stores. */
#ifndef MPISTAIR_SUMS_WORKING_TABLES_H
#define MPISTAIR_SUMS_WORKING_TABLES_H

#include <sqlite3.h>

#include "share/base/error.h"

/* Makes the tables. Returns 0, or -1 with the reason.
 *
 *     temp.pair(src, dst, messages, bytes, level)   the view traffic; of messages to or from a GPU the level of the
 *                                                   processes
 *     temp.halves                                   the view kind_halves
 *     temp.replicate(rank, first_s, second_s,       the view rank_replicate without its error
 *       off_s)
 *     temp.heaviest_kind                            the rows of kind_summary of the ten heaviest kinds
 */
int working_tables_make(sqlite3 *database, const char *path, struct error *error);

#endif
