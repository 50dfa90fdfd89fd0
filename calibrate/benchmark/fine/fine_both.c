/* In a halo exchange every rank sends while it receives, out of memory that was just computed. So bytes are moved both
 * ways at once here, from places that no cache has: an interface that copies them by one processor, or through a
 * smaller buffer, is as slow then as it is in a program, which a stream of warm bytes in one direction hides. */
#include "calibrate/benchmark/fine/fine_both.h"

#include "calibrate/benchmark/fine/fine_partitioned.h"
#include "calibrate/measure/shared_clock.h"

/* Waits until both ranks of the pair are here. */
static void meet(const struct measure *measure, const struct task *task)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, task->partner, FINE_GO_TAG, NULL, 0, MPI_BYTE, task->partner, FINE_GO_TAG,
                 measure->comm, MPI_STATUS_IGNORE);
}

static size_t next_place(struct measure *measure, const struct task *task)
{
    size_t place;
    measure_places(measure, task->bytes, 1, &place);
    return place;
}

double fine_both_p2p(struct measure *measure, const struct task *task)
{
    MPI_Request requests[2 * FINE_BOTH_COUNT_MAX];
    MPI_Status statuses[2 * FINE_BOTH_COUNT_MAX];
    int bytes = (int)task->bytes / task->count;
    double seconds = 0;
    for (int i = 0; i < task->repeats; i++) {
        size_t place = next_place(measure, task);
        for (int k = 0; k < task->count; k++)
            MPI_Irecv(measure->recv_buffer + place + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, task->partner,
                      FINE_DATA_TAG + k, measure->comm, &requests[k]);
        meet(measure, task);
        double begin_s = clock_now_s();
        for (int k = 0; k < task->count; k++)
            MPI_Isend(measure->send_buffer + place + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, task->partner,
                      FINE_DATA_TAG + k, measure->comm, &requests[task->count + k]);
        MPI_Waitall(2 * task->count, requests, statuses);
        seconds += clock_now_s() - begin_s;
    }
    return seconds / task->repeats;
}

double fine_both_rma(struct measure *measure, const struct task *task, MPI_Win window, size_t window_bytes)
{
    int bytes = (int)task->bytes / task->count;
    double seconds = 0;
    for (int i = 0; i < task->repeats; i++) {
        size_t place = next_place(measure, task), turns = window_bytes / task->bytes;
        size_t target = place / task->bytes % turns * task->bytes;
        meet(measure, task);
        double begin_s = clock_now_s();
        for (int k = 0; k < task->count; k++) {
            size_t at = (size_t)k * (size_t)bytes;
            MPI_Put(measure->send_buffer + place + at, bytes, MPI_BYTE, task->partner, (MPI_Aint)(target + at), bytes,
                    MPI_BYTE, window);
        }
        MPI_Win_flush(task->partner, window);
        seconds += clock_now_s() - begin_s;
        meet(measure, task); /* some MPIs put only while the target is inside MPI */
    }
    return seconds / task->repeats;
}

#if MPI_VERSION >= 4

/* Moves all requests once: receives first, then sends. Returns the seconds of it. */
static double move(const struct measure *measure, const struct task *task, MPI_Request *requests)
{
    MPI_Startall(2 * task->count, requests);
    meet(measure, task);
    double begin_s = clock_now_s();
    for (int k = 0; k < task->count; k++)
        MPI_Pready(0, requests[task->count + k]);
    for (int k = 0; k < 2 * task->count; k++) /* MPICH 4.0's MPI_Waitall takes their state for an error */
        MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    return clock_now_s() - begin_s;
}

double fine_both_partitioned(struct measure *measure, const struct task *task)
{
    MPI_Request requests[2 * FINE_BOTH_COUNT_MAX];
    MPI_Count bytes = (MPI_Count)task->bytes / task->count;
    size_t place = next_place(measure, task);
    double seconds = 0;
    for (int k = 0; k < task->count; k++) {
        size_t at = place + (size_t)k * (size_t)bytes;
        MPI_Precv_init(measure->recv_buffer + at, 1, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG + k, measure->comm,
                       MPI_INFO_NULL, &requests[k]);
        MPI_Psend_init(measure->send_buffer + at, 1, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG + k, measure->comm,
                       MPI_INFO_NULL, &requests[task->count + k]);
    }
    (void)move(measure, task, requests); /* with it the two sides find each other */
    for (int i = 0; i < task->repeats; i++)
        seconds += move(measure, task, requests);
    for (int k = 0; k < 2 * task->count; k++)
        MPI_Request_free(&requests[k]);
    return seconds / task->repeats;
}

#else

double fine_both_partitioned(struct measure *measure, const struct task *task)
{
    (void)measure;
    (void)task;
    return 0;
}

#endif
