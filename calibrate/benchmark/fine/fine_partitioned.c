/* An MPI may move each partition when it is ready, or all of them when the last one is: the one hides what the other
 * does not. So it is not enough to know what a partition costs. */
#include "calibrate/benchmark/fine/fine_partitioned.h"

#include "calibrate/measure/shared_clock.h"

void fine_await(const struct measure *measure, const struct task *task)
{
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, FINE_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
}

void fine_tell(const struct measure *measure, const struct task *task)
{
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, FINE_GO_TAG, measure->comm);
}

#if MPI_VERSION >= 4

static MPI_Request make_request(const struct measure *measure, const struct task *task, char *data)
{
    MPI_Count bytes = (MPI_Count)task->bytes / task->count;
    MPI_Request request;
    if (task->is_first)
        MPI_Psend_init(data, task->count, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG, measure->comm, MPI_INFO_NULL,
                       &request);
    else
        MPI_Precv_init(data, task->count, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG, measure->comm, MPI_INFO_NULL,
                       &request);
    return request;
}

/* Moves all partitions once. Returns the seconds from the receiver's word to the end. */
static double move_all(const struct measure *measure, const struct task *task, MPI_Request *request)
{
    MPI_Start(request);
    double begin_s = clock_now_s();
    if (task->is_first) {
        fine_await(measure, task);
        for (int i = 0; i < task->count; i++) /* as threads do */
            MPI_Pready(i, *request);
    } else {
        fine_tell(measure, task);
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return clock_now_s() - begin_s;
}

double fine_partitioned(struct measure *measure, const struct task *task, char *data)
{
    MPI_Request request = make_request(measure, task, data);
    double seconds = 0;
    (void)move_all(measure, task, &request); /* with it the two sides find each other */
    for (int i = 0; i < task->repeats; i++)
        seconds += move_all(measure, task, &request);
    MPI_Request_free(&request);
    return task->is_first ? 0 : seconds / task->repeats;
}

double fine_early(struct measure *measure, const struct task *task, char *data)
{
    MPI_Request request = make_request(measure, task, data);
    double seconds = 0;
    (void)move_all(measure, task, &request);
    MPI_Start(&request);
    if (task->is_first) {
        fine_await(measure, task);
        MPI_Pready(0, request);
        fine_await(measure, task);
        MPI_Pready_range(1, task->count - 1, request);
    } else {
        double begin_s = clock_now_s();
        fine_tell(measure, task);
        for (int arrived = 0; !arrived && seconds < FINE_EARLY_S; seconds = clock_now_s() - begin_s)
            MPI_Parrived(request, 0, &arrived);
        fine_tell(measure, task);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return seconds;
}

#else

double fine_partitioned(struct measure *measure, const struct task *task, char *data)
{
    (void)measure;
    (void)task;
    (void)data;
    return 0;
}

double fine_early(struct measure *measure, const struct task *task, char *data)
{
    return fine_partitioned(measure, task, data);
}

#endif
