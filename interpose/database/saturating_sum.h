/* Adds up what may be more than 64 bits hold (share/base/saturating.h says why). SQLite's own sum() then ends the query
 * with an error, which would cost the user all that the query shows. */
#ifndef MPISTAIR_DATABASE_SATURATING_SUM_H
#define MPISTAIR_DATABASE_SATURATING_SUM_H

#include <sqlite3.h>

/* Makes sum() of the connection stop at the largest integer, or the smallest. All else is as in SQLite's. Returns an
 * SQLite code. */
int saturating_sum_open(sqlite3 *database);

#endif
