/* Both sides of a paused message must agree on every moment, though one of them makes no MPI call: the two loops stand
 * side by side here. */
#include "calibrate/measure/paused.h"

#include <sched.h>

#include "calibrate/measure/shared_clock.h"

enum { DATA_TAG = 1, END_TAG = 2 };

/* Lies between the message and its receive: an eager one is complete by then. */
#define HOLD_S 2e-3

/* Returns the seconds since the start of the task, on the common clock. */
static double elapsed_s(const struct measure *measure, const struct task *task)
{
    return clock_now_s() + measure->offset_s - task->start_s;
}

static void send_one(const struct measure *measure, const struct task *task, const char *data)
{
    MPI_Request request;
    int complete = 0;
    MPI_Isend(data, (int)task->bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &request);
    while (!complete) {
        MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
        if (!complete)
            sched_yield();
    }
    double complete_s = elapsed_s(measure, task);
    MPI_Send(&complete_s, 1, MPI_DOUBLE, task->partner, END_TAG, measure->comm);
}

/* Returns the seconds until the send was complete; the pause where it was refused. */
static double receive_one(const struct measure *measure, const struct task *task, char *data, double pause_s)
{
    double complete_s, limit_s = PAUSED_MARGIN * pause_s;
    volatile char *last = data + task->bytes - 1; /* volatile, as MPI may write it */
    MPI_Request request;
    int arrived = 0;
    *last = 0;
    while (!arrived) {
        MPI_Iprobe(task->partner, DATA_TAG, measure->comm, &arrived, MPI_STATUS_IGNORE);
        sched_yield();
    }
    clock_sleep_s(HOLD_S);
    double receive_s = elapsed_s(measure, task);
    MPI_Irecv(data, (int)task->bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &request);
    bool fetched = *last != 0;
    clock_sleep_s(pause_s);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&complete_s, 1, MPI_DOUBLE, task->partner, END_TAG, measure->comm, MPI_STATUS_IGNORE);
    double after_s = complete_s - receive_s;
    if (after_s < 0)
        return complete_s < limit_s ? complete_s : limit_s;
    return after_s < limit_s && !fetched ? after_s : pause_s;
}

/* Returns the number of messages that were complete when the next one stopped; 0 where none stopped within the pause.
 */
static int send_stream(const struct measure *measure, const struct task *task, const char *data, double pause_s)
{
    MPI_Request request;
    int complete = 1, sent = 0;
    bool stopped = false;
    double begin_s = clock_now_s(), last_s = begin_s, now_s = begin_s;
    while (!stopped && complete && sent < task->count) {
        MPI_Isend(data, (int)task->bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &request);
        sent++;
        for (complete = 0; !complete && !stopped && now_s - begin_s < PAUSED_MARGIN * pause_s; now_s = clock_now_s()) {
            MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
            if (!complete)
                sched_yield();
            stopped = !complete && now_s - last_s > PAUSED_STOPPED_S;
        }
        last_s = now_s;
    }
    MPI_Send(&sent, 1, MPI_INT, task->partner, END_TAG, measure->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return stopped ? sent - 1 : 0;
}

static void receive_stream(const struct measure *measure, const struct task *task, char *data, double pause_s)
{
    int sent;
    clock_sleep_s(pause_s);
    MPI_Recv(&sent, 1, MPI_INT, task->partner, END_TAG, measure->comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < sent; i++)
        MPI_Recv(data, (int)task->bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, MPI_STATUS_IGNORE);
}

double paused_message(const struct measure *measure, const struct task *task, char *data, double pause_s)
{
    if (!task->is_first)
        return receive_one(measure, task, data, pause_s);
    send_one(measure, task, data);
    return 0;
}

double paused_stream(const struct measure *measure, const struct task *task, char *data, double pause_s)
{
    if (task->is_first)
        return send_stream(measure, task, data, pause_s);
    receive_stream(measure, task, data, pause_s);
    return 0;
}
