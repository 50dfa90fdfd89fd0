/* Makes every call that completes requests, on arrays with live, null and inactive ones, statuses wanted and ignored.
 */
#include "tests/mpi/matrix/matrix.h"

#define N 6

/* Rank 0 sends N messages of tags base, base + 1, ... and rank 1 posts their receives; request N stays null. */
static void post(int base, int values[N][10], MPI_Request requests[N + 1])
{
    for (int i = 0; i < N; i++) {
        if (matrix_rank == 0) {
            matrix_fill(values[i], 10, base + i);
            CALL(Isend, (values[i], 10, MPI_INT, 1, base + i, MPI_COMM_WORLD, &requests[i]));
            matrix_sent(1, base + i, 40);
        } else {
            int source = i % 2 ? MPI_ANY_SOURCE : 0;
            CALL(Irecv, (values[i], 10, MPI_INT, source, base + i, MPI_COMM_WORLD, &requests[i]));
        }
    }
    requests[N] = MPI_REQUEST_NULL;
}

static void check(int base, int values[N][10])
{
    for (int i = 0; matrix_rank == 1 && i < N; i++)
        matrix_check(values[i], 10, base + i, "what a completion call reported");
}

static void one_by_one(void)
{
    int values[N][10], flag;
    MPI_Request requests[N + 1];
    MPI_Status status;
    post(100, values, requests);
    for (int i = 0; i < N; i++)
        CALL(Wait, (&requests[i], i % 2 ? &status : MPI_STATUS_IGNORE));
    CALL(Wait, (&requests[N], &status));
    check(100, values);
    post(110, values, requests);
    for (int i = 0; i < N; i++) {
        do
            TRY(Test, (&requests[i], &flag, MPI_STATUS_IGNORE));
        while (!flag);
        matrix_found();
    }
    TRY(Test, (&requests[N], &flag, &status));
    matrix_found(); /* in the sum of tests without a result */
    check(110, values);
}

static void all(void)
{
    int values[N][10], flag;
    MPI_Request requests[N + 1];
    MPI_Status statuses[N + 1];
    post(120, values, requests);
    CALL(Waitall, (N + 1, requests, statuses));
    check(120, values);
    post(130, values, requests);
    do
        TRY(Testall, (N + 1, requests, &flag, MPI_STATUSES_IGNORE));
    while (!flag);
    matrix_found();
    check(130, values);
    CALL(Waitall, (0, NULL, MPI_STATUSES_IGNORE));
}

static void any(void)
{
    int values[N][10], index, flag, done = 0;
    MPI_Request requests[N + 1];
    MPI_Status status;
    post(140, values, requests);
    do {
        CALL(Waitany, (N + 1, requests, &index, &status));
        done += index != MPI_UNDEFINED;
    } while (index != MPI_UNDEFINED);
    matrix_must(done == N, "Waitany reports each request once");
    check(140, values);
    post(150, values, requests);
    for (done = 0; done < N;) {
        TRY(Testany, (N + 1, requests, &index, &flag, MPI_STATUS_IGNORE));
        if (flag && index != MPI_UNDEFINED) {
            matrix_found();
            done++;
        }
    }
    check(150, values);
}

static void some(void)
{
    int values[N][10], indices[N + 1], n_done, done = 0;
    MPI_Request requests[N + 1];
    MPI_Status statuses[N + 1];
    post(160, values, requests);
    while (done < N) {
        CALL(Waitsome, (N + 1, requests, &n_done, indices, statuses));
        done += n_done;
    }
    CALL(Waitsome, (N + 1, requests, &n_done, indices, statuses));
    matrix_must(n_done == MPI_UNDEFINED, "Waitsome without a live request");
    check(160, values);
    post(170, values, requests);
    for (done = 0; done < N;) {
        TRY(Testsome, (N + 1, requests, &n_done, indices, MPI_STATUSES_IGNORE));
        if (n_done > 0)
            matrix_found();
        done += n_done > 0 ? n_done : 0;
    }
    check(170, values);
}

/* Asks for the status of a request first, and frees one while its message is on the way. */
static void asked_and_freed(void)
{
    int value = 0, flag = 0, source = matrix_rank == 1 ? MPI_ANY_SOURCE : 0;
    MPI_Request request;
    MPI_Status status;
    if (matrix_rank == 0) {
        value = 180000;
        CALL(Isend, (&value, 1, MPI_INT, 1, 180, MPI_COMM_WORLD, &request));
        CALL(Request_free, (&request));
        CALL(Recv, (NULL, 0, MPI_INT, 1, 181, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        matrix_sent(1, 180, 4);
    } else {
        CALL(Irecv, (&value, 1, MPI_INT, source, 180, MPI_COMM_WORLD, &request));
        do
            TRY(Request_get_status, (request, &flag, &status));
        while (!flag);
        matrix_found();
        matrix_must(status.MPI_SOURCE == 0, "Request_get_status");
        CALL(Wait, (&request, MPI_STATUS_IGNORE));
        matrix_check(&value, 1, 180, "a request that was asked for its status");
        CALL(Send, (NULL, 0, MPI_INT, 0, 181, MPI_COMM_WORLD));
        matrix_sent(0, 181, 0);
    }
}

void matrix_completion(void)
{
    one_by_one();
    all();
    any();
    some();
    asked_and_freed();
}
