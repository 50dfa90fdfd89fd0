/* A process that ends within a transaction leaves a journal, which a reader without the right to write cannot roll
 * back. So the transaction is rolled back first: after a signal, and at exit where memory ran out. The handler notes
 * the signal alone; SQLite asks every few steps by its progress handler whether to go on. */
#include "interpose/database/transaction.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "interpose/database/database.h"

enum { N_SIGNALS = 3, STEPS_BETWEEN_LOOKS = 8 };

static const int numbers[N_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[N_SIGNALS];
static volatile sig_atomic_t caught;

static void restore(void)
{
    for (int i = 0; i < N_SIGNALS; i++)
        sigaction(numbers[i], &before[i], NULL);
}

static void note(int number)
{
    caught = number;
    restore();
}

static int look(void *context)
{
    (void)context;
    return caught != 0;
}

void interruptible_begin(sqlite3 *database)
{
    struct sigaction ours = {.sa_handler = note};
    caught = 0;
    for (int i = 0; i < N_SIGNALS; i++)
        sigaction(numbers[i], NULL, &before[i]);
    for (int i = 0; i < N_SIGNALS; i++)
        if (before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
    sqlite3_progress_handler(database, STEPS_BETWEEN_LOOKS, look, NULL);
}

/* Lets statements run again, to take the failed work back. */
static void let_run(sqlite3 *database)
{
    sqlite3_progress_handler(database, 0, NULL, NULL);
}

void interruptible_end(sqlite3 *database)
{
    let_run(database);
    if (caught == 0)
        restore();
    if (caught != 0)
        raise(caught);
}

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
    let_run(database);
    if (result == 0 && caught == 0 && sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        result = database_error(database, path, "cannot be changed", error);
    if (result != 0 || caught != 0)
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    open_transaction = NULL;
    interruptible_end(database);
    return result;
}
