/* MPI has many calls that complete requests, and a recorder must treat them all alike: programs that complete in each
 * way share this list of them. */
#include "tests/apps/completing.h"

#include "tests/apps/app.h"

#include <stdbool.h>
#include <stdlib.h>

static void with_wait(int n, MPI_Request *requests)
{
    for (int i = 0; i < n; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

static void with_wait_backwards(int n, MPI_Request *requests)
{
    MPI_Status status;
    for (int i = n - 1; i >= 0; i--)
        MPI_Wait(&requests[i], &status);
}

static void with_waitall_ignore(int n, MPI_Request *requests)
{
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static void with_waitall(int n, MPI_Request *requests)
{
    MPI_Status *statuses = app_allocate((size_t)n, sizeof(*statuses));
    MPI_Waitall(n, requests, statuses);
    free(statuses);
}

static void with_waitany(int n, MPI_Request *requests)
{
    for (int index = 0; index != MPI_UNDEFINED;)
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
}

static void with_testany(int n, MPI_Request *requests)
{
    MPI_Status status;
    for (int index = 0, flag = 0; !flag || index != MPI_UNDEFINED;)
        MPI_Testany(n, requests, &index, &flag, &status);
}

/* Completes by MPI_Waitsome, or with polling by MPI_Testsome. */
static void with_some(bool polling, int n, MPI_Request *requests)
{
    int *indices = app_allocate((size_t)n, sizeof(*indices));
    MPI_Status *statuses = app_allocate((size_t)n, sizeof(*statuses));
    for (int done = 0; done != MPI_UNDEFINED;) {
        if (polling)
            MPI_Testsome(n, requests, &done, indices, statuses);
        else
            MPI_Waitsome(n, requests, &done, indices, statuses);
    }
    free(indices);
    free(statuses);
}

static void with_waitsome(int n, MPI_Request *requests)
{
    with_some(false, n, requests);
}

static void with_testsome(int n, MPI_Request *requests)
{
    with_some(true, n, requests);
}

static void with_test(int n, MPI_Request *requests)
{
    for (int i = 0; i < n; i++) {
        for (int flag = 0; !flag;)
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
}

static void with_testall(int n, MPI_Request *requests)
{
    for (int flag = 0; !flag;)
        MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
}

void completion_run(int way, int n, MPI_Request *requests)
{
    static void (*const ways[COMPLETION_WAYS])(int, MPI_Request *) = {
        with_wait,    with_wait_backwards, with_waitall_ignore, with_waitall, with_waitany,
        with_testany, with_waitsome,       with_testsome,       with_test,    with_testall,
    };
    ways[way](n, requests);
}
