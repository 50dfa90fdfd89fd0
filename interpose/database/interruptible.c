/* The handler notes the signal alone. SQLite asks every few steps by its progress handler whether to go on. */
#include "interpose/database/interruptible.h"

#include <signal.h>
#include <stddef.h>

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

bool interruptible_came(void)
{
    return caught != 0;
}

void interruptible_stop(sqlite3 *database)
{
    sqlite3_progress_handler(database, 0, NULL, NULL);
}

void interruptible_end(sqlite3 *database)
{
    interruptible_stop(database);
    if (caught == 0)
        restore();
    if (caught != 0)
        raise(caught);
}
