/* Measures messages of a rank to itself: a copy inside the process, or what the MPI makes of it. Sizes go from 1 B to 4
 * MiB, one message at a time, every one from and to another place of the long buffers, on up to four ranks spread over
 * the job.
 *
 * The send is not blocking: a blocking one to oneself need not return before its receive is posted, and from the
 * rendezvous size on MPICH's does not. */
#include "calibrate/benchmark/benchmarks.h"

enum { RANKS_MAX = 4, SELF_REPEATS_MAX = 8192, SELF_WARM_SHARE = 16, SELF_DATA_TAG = 1 };

#define SELF_BYTES_MAX 4194304u

static void self_list(const struct measure *measure, struct item_list *list)
{
    int n_ranks = measure->size < RANKS_MAX ? measure->size : RANKS_MAX;
    for (int i = 0; i < n_ranks; i++) {
        int rank = (int)((int64_t)i * measure->size / n_ranks);
        item_add_sizes(list, (struct item){.level = LEVEL_SELF, .repeats = SELF_REPEATS_MAX, .pair = {rank, rank}}, 1,
                       SELF_BYTES_MAX, 2);
    }
}

static void send_to_self(struct measure *measure, const struct task *task, int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        size_t place = measure_place(measure, task->bytes);
        MPI_Isend(measure->send_buffer + place, (int)task->bytes, MPI_BYTE, task->partner, SELF_DATA_TAG, measure->comm,
                  &requests[0]);
        MPI_Irecv(measure->recv_buffer + place, (int)task->bytes, MPI_BYTE, task->partner, SELF_DATA_TAG, measure->comm,
                  &requests[1]);
        MPI_Waitall(2, requests, statuses);
    }
}

static double self_exchange(struct measure *measure, const struct task *task)
{
    send_to_self(measure, task, 1 + task->repeats / SELF_WARM_SHARE);
    double begin_s = clock_now_s();
    send_to_self(measure, task, task->repeats);
    return (clock_now_s() - begin_s) / task->repeats;
}

const struct benchmark_program self_program = {
    .name = "self",
    .summary = "Messages of a rank to itself: latency and bandwidth.",
    .list = self_list,
    .exchange = self_exchange,
};
