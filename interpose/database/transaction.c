/* A process that ends within a transaction leaves a journal, which a reader without the right to write cannot roll
 * back. So the transaction is rolled back first: after a signal, and at exit where memory ran out. */
#include "interpose/database/transaction.h"

#include <stdbool.h>
#include <stdlib.h>

#include "interpose/database/database.h"
#include "interpose/database/interruptible.h"

static sqlite3 *open_transaction;

static void roll_back(void)
{
    if (open_transaction != NULL)
        sqlite3_exec(open_transaction, "ROLLBACK", NULL, NULL, NULL);
}

int transaction_begin(sqlite3 *database, const char *path, struct error *error)
{
    if (sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return database_error(database, path, "cannot be changed", error);
    static bool is_registered;
    if (!is_registered)
        is_registered = atexit(roll_back) == 0;
    open_transaction = database;
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
    open_transaction = NULL;
    interruptible_end(database);
    return result;
}
