/* Ends work on a database in order when a signal comes, for what a handler of signals cannot take back. */
#ifndef MPISTAIR_DATABASE_INTERRUPTIBLE_H
#define MPISTAIR_DATABASE_INTERRUPTIBLE_H

#include <sqlite3.h>
#include <stdbool.h>

/* Until interruptible_end() SIGINT, SIGTERM and SIGHUP make the next statement on the database fail; a second one ends
 * the process at once. Signals that are ignored stay so. Only one at a time. */
void interruptible_begin(sqlite3 *database);
/* Says whether a signal came. */
bool interruptible_came(void);
/* Lets statements be as they were; after the work that failed was taken back. */
void interruptible_stop(sqlite3 *database);
/* Handles signals as before, and ends the process by the one that came. */
void interruptible_end(sqlite3 *database);

#endif
