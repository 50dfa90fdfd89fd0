/* Measures how many bytes pass a network card at once after a rest, before its rate falls to that of the wire: burst
 * of the machine table (share/doc/MODELS.md, Whole run).
 *
 * A shaped network (a virtual machine of a cloud, a token bucket of Linux) lets a bucket of bytes pass unshaped; the
 * bucket fills again while nothing is sent. One pair of ranks on different nodes rests until it is full, then sends a
 * stream of messages of 16 KiB. The variant `rested` is the time of the stream. The variant `stream` is what as many
 * bytes more take, when the bucket is empty: it rests and sends twice, once so many bytes and once twice as many, and
 * is the difference. What the first is shorter than the second is what the bucket let pass
 * (fit/fit_network.c).
 *
 * Both ends of that difference are ends of a stream. Within a stream arrivals say little, for TCP moves up to 64 kB
 * in one packet: the bytes before it wait for those behind.
 *
 * All times are the receiver's, from when the sender begins until the last arrival. The receiver posts all receives
 * and tells the sender to go; an empty message comes back ahead of the stream. The sender began half way between the
 * two, whatever the clocks of the nodes say. So a latency is in the time of `rested`, while it cancels in `stream`: a
 * wire without a bucket shows less than nothing rather than a small bucket.
 *
 * A sample takes long, and times on a slow wire differ little. So it leads itself: the smaller size, which most
 * buckets fit, is measured as often as the fit needs before the larger one is measured at all. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/benchmark/benchmarks.h"

enum burst_mode { RESTED, BURST_STREAM, BURST_N_MODES };
enum { N_SIZES = 2 };
enum {
    BURST_MESSAGE_BYTES = 16384,
    BURST_BYTES_MAX = 1048576,
    MESSAGES_MAX = 2 * BURST_BYTES_MAX / BURST_MESSAGE_BYTES
};
enum { BURST_DATA_TAG = 1, BURST_GO_TAG, BURST_BEGIN_TAG };

/* Rest before a stream, s: fills a bucket of 64 kB at 20 Mbit/s, and is too short for TCP to begin anew with a small
 * window. */
#define REST_S 30e-3

/* Sample where more bytes took no more time, s: a sample is above 0. */
#define MORE_MIN_S 1e-9

/* Samples of an item: at first of the smaller size alone, and at most. */
enum { FIRST_SAMPLES = 4, BURST_SAMPLES_MAX = 12 };

static const char *const burst_variants[BURST_N_MODES] = {"rested", "stream"};
static const uint64_t burst_sizes[N_SIZES] = {262144, BURST_BYTES_MAX};

static void burst_rest(const struct measure *measure, const struct task *task)
{
    measure_meet(measure, task);
    clock_sleep_s(REST_S);
}

static void burst_send_stream(const struct measure *measure, const struct task *task, const char *data, int n)
{
    MPI_Request requests[MESSAGES_MAX];
    MPI_Status statuses[MESSAGES_MAX];
    burst_rest(measure, task);
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, BURST_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, BURST_BEGIN_TAG, measure->comm);
    for (int i = 0; i < n; i++)
        MPI_Isend(data + (size_t)i * BURST_MESSAGE_BYTES, BURST_MESSAGE_BYTES, MPI_BYTE, task->partner, BURST_DATA_TAG,
                  measure->comm, &requests[i]);
    MPI_Waitall(n, requests, statuses);
}

/* Returns the time from the sender's begin to the last arrival. */
static double burst_receive_stream(const struct measure *measure, const struct task *task, char *data, int n)
{
    MPI_Request requests[MESSAGES_MAX];
    MPI_Status statuses[MESSAGES_MAX];
    for (int i = 0; i < n; i++)
        MPI_Irecv(data + (size_t)i * BURST_MESSAGE_BYTES, BURST_MESSAGE_BYTES, MPI_BYTE, task->partner, BURST_DATA_TAG,
                  measure->comm, &requests[i]);
    burst_rest(measure, task);
    double go_s = clock_now_s();
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, BURST_GO_TAG, measure->comm);
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, BURST_BEGIN_TAG, measure->comm, MPI_STATUS_IGNORE);
    double begin_s = (go_s + clock_now_s()) / 2;
    MPI_Waitall(n, requests, statuses);
    return clock_now_s() - begin_s;
}

/* Sends n <= MESSAGES_MAX messages after a rest and returns their time; 0 for the sender. */
static double stream(struct measure *measure, const struct task *task, int n)
{
    char *data = measure_data(measure, task, (uint64_t)n * BURST_MESSAGE_BYTES);
    if (!task->is_first)
        return burst_receive_stream(measure, task, data, n);
    burst_send_stream(measure, task, data, n);
    return 0;
}

static double burst_exchange(struct measure *measure, const struct task *task)
{
    int n = (int)(task->bytes / BURST_MESSAGE_BYTES);
    double seconds = stream(measure, task, n);
    if (task->mode == RESTED || task->is_first)
        return task->mode == RESTED ? seconds : stream(measure, task, 2 * n);
    double more_s = stream(measure, task, 2 * n) - seconds;
    return more_s > MORE_MIN_S ? more_s : MORE_MIN_S;
}

static void burst_lead(struct measure *measure)
{
    struct item_list list = {0};
    size_t taken[N_SIZES * BURST_N_MODES];
    one_pair_list(measure, &list, LEVEL_INTER_NODE, LEVEL_INTER_NODE,
                  &(struct one_pair_plan){burst_variants, BURST_N_MODES, burst_sizes, N_SIZES, 1});
    for (size_t i = 0; i < list.n; i++)
        taken[i] = measure_resumed(measure, &list.items[i], NULL, 0);
    if (list.n == 0)
        fprintf(stderr, MEASURE_NOTE "left_out burst: all %d ranks are on one node\n", measure->size);
    else
        (void)measure_once(measure, &list.items[0]); /* opens TCP's window, and does not count */
    round_robin_measure(measure, list.items, list.n < BURST_N_MODES ? list.n : BURST_N_MODES, taken, FIRST_SAMPLES);
    round_robin_measure(measure, list.items, list.n, taken, BURST_SAMPLES_MAX);
    free(list.items);
}

const struct benchmark_program burst_program = {
    .name = "burst",
    .summary = "The bytes that pass a network card at once after a rest.",
    .lead = burst_lead,
    .exchange = burst_exchange,
};
