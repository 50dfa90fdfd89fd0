/* Measures messages whose buffers are in the caches of their ranks (share/doc/MODELS.md, Whole run, Buffers in caches).
 *
 * All other benchmarks take another place of a long buffer for every message, so that what they measure comes from
 * memory. Programs mostly send what they have just computed, and receive where they received a step ago. One pair of
 * each level of a node goes on sending from one place and receiving at one other place, which stay in the caches after
 * the first round:
 *   one_way    a ping-pong; its seconds are half a round trip
 *   both_ways  each receives and sends one message, and waits for both; its seconds are those of a round
 */
#include "calibrate/benchmark/benchmarks.h"

enum cached_mode { CACHED_ONE_WAY, CACHED_BOTH_WAYS, CACHED_N_MODES };
enum { CACHED_REPEATS_MAX = 8192, CACHED_WARM_UPS = 4, CACHED_DATA_TAG = 1 };

static const char *const cached_variants[CACHED_N_MODES] = {"one_way", "both_ways"};
/* Sizes, B; the fit finds out which of the large ones the caches hold. */
static const uint64_t cached_sizes[] = {1024,   2048,   4096,   8192,    16384,   32768,  65536,
                                        131072, 262144, 524288, 1048576, 2097152, 4194304};

static void cached_list(const struct measure *measure, struct item_list *list)
{
    size_t n_sizes = 0;
    while (n_sizes < sizeof cached_sizes / sizeof cached_sizes[0] && cached_sizes[n_sizes] <= measure->buffer_bytes)
        n_sizes++;
    one_pair_list(measure, list, LEVEL_INTRA_SOCKET, LEVEL_INTER_SOCKET,
                  &(struct one_pair_plan){cached_variants, CACHED_N_MODES, cached_sizes, n_sizes, CACHED_REPEATS_MAX});
}

static void round_trip(struct measure *measure, const struct task *task)
{
    int bytes = (int)task->bytes;
    if (task->is_first)
        MPI_Send(measure->send_buffer, bytes, MPI_BYTE, task->partner, CACHED_DATA_TAG, measure->comm);
    MPI_Recv(measure->recv_buffer, bytes, MPI_BYTE, task->partner, CACHED_DATA_TAG, measure->comm, MPI_STATUS_IGNORE);
    if (!task->is_first)
        MPI_Send(measure->send_buffer, bytes, MPI_BYTE, task->partner, CACHED_DATA_TAG, measure->comm);
}

static void cross(struct measure *measure, const struct task *task)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int bytes = (int)task->bytes;
    MPI_Irecv(measure->recv_buffer, bytes, MPI_BYTE, task->partner, CACHED_DATA_TAG, measure->comm, &requests[0]);
    MPI_Isend(measure->send_buffer, bytes, MPI_BYTE, task->partner, CACHED_DATA_TAG, measure->comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
}

static double cached_exchange(struct measure *measure, const struct task *task)
{
    double begin_s = 0;
    for (int i = -CACHED_WARM_UPS; i < task->repeats; i++) {
        if (i == 0)
            begin_s = clock_now_s();
        (task->mode == CACHED_ONE_WAY ? round_trip : cross)(measure, task);
    }
    double seconds = (clock_now_s() - begin_s) / task->repeats;
    if (task->mode == CACHED_BOTH_WAYS)
        return seconds;
    return task->is_first ? seconds / 2 : 0; /* the second rank waits for the first message to leave */
}

const struct benchmark_program cached_program = {
    .name = "cached",
    .summary = "Messages whose buffers are in the caches of their ranks: bandwidth.",
    .list = cached_list,
    .exchange = cached_exchange,
};
