/* A process that a signal ends within a transaction leaves a journal, which a reader without the right to write cannot
 * roll back. So the signal is only noted, SQLite stops by its progress handler, and the signal is raised again when the
 * trace is as it was. The second signal ends the process at once. */
#include "interpose/database/transaction.h"

#include <signal.h>
#include <stddef.h>

#include "interpose/database/database.h"

enum { N_SIGNALS = 3, STEPS_BETWEEN_LOOKS = 8 };

static const int numbers[N_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[N_SIGNALS];
static volatile sig_atomic_t caught;

static void note(int number)
{
    caught = number;
    for (int i = 0; i < N_SIGNALS; i++)
        sigaction(numbers[i], &before[i], NULL);
}

static int look(void *context)
{
    (void)context;
    return caught != 0;
}

static void handlers_restore(void)
{
    for (int i = 0; caught == 0 && i < N_SIGNALS; i++)
        sigaction(numbers[i], &before[i], NULL);
}

int transaction_begin(sqlite3 *database, const char *path, struct error *error)
{
    struct sigaction ours = {.sa_handler = note};
    caught = 0;
    if (sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return database_error(database, path, "cannot be changed", error);
    for (int i = 0; i < N_SIGNALS; i++) {
        sigaction(numbers[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &ours, NULL);
    }
    sqlite3_progress_handler(database, STEPS_BETWEEN_LOOKS, look, NULL);
    return 0;
}

int transaction_end(sqlite3 *database, const char *path, int result, struct error *error)
{
    sqlite3_progress_handler(database, 0, NULL, NULL);
    if (result == 0 && caught == 0 && sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        result = database_error(database, path, "cannot be changed", error);
    if (result != 0 || caught != 0)
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    handlers_restore();
    if (caught != 0)
        raise(caught);
    return result;
}
