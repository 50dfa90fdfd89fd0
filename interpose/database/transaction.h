/* Changes a trace.db wholly or not at all, also when a signal ends the program. */
#ifndef MPISTAIR_DATABASE_TRANSACTION_H
#define MPISTAIR_DATABASE_TRANSACTION_H

#include <sqlite3.h>

#include "share/base/error.h"

/* Begins a transaction that writes; only one at a time. Until its end SIGINT, SIGTERM and SIGHUP make the next
 * statement fail. Returns 0, or -1 with the reason. */
int transaction_begin(sqlite3 *database, const char *path, struct error *error);
/* Ends it: with COMMIT where result, what the work returned, is 0, else with ROLLBACK. If a signal came, all is rolled
 * back and the process ends by that signal. Returns 0, or -1 with the reason; error is untouched where result is not
 * 0. */
int transaction_end(sqlite3 *database, const char *path, int result, struct error *error);

/* Until interruptible_end() SIGINT, SIGTERM and SIGHUP make the next statement on the database fail; a second one ends
 * the process at once. Signals that are ignored stay so. Only one at a time. */
void interruptible_begin(sqlite3 *database);
/* Handles signals as before, and ends the process by the one that came. */
void interruptible_end(sqlite3 *database);

#endif
