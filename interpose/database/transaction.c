/* A process that a signal ends within a transaction leaves a journal, which a reader without the right to write cannot
 * roll back. So the transaction is rolled back first. */
#include "interpose/database/transaction.h"

#include <stddef.h>

#include "interpose/database/database.h"
#include "interpose/database/interruptible.h"

int transaction_begin(sqlite3 *database, const char *path, struct error *error)
{
    if (sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return database_error(database, path, "cannot be changed", error);
    interruptible_begin(database);
    return 0;
}

int transaction_end(sqlite3 *database, const char *path, int result, struct error *error)
{
    interruptible_stop(database);
    if (result == 0 && !interruptible_came() && sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        result = database_error(database, path, "cannot be changed", error);
    if (result != 0 || interruptible_came())
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    interruptible_end(database);
    return result;
}
