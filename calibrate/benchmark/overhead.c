/* Measures what MPI_Isend and MPI_Irecv cost their caller, from entry to return (share/doc/MODELS.md, Whole run).
 *
 * One pair of each level exchanges one message at a time. The receive is posted first, then the sender is told to go:
 * no message is unexpected and no queue is long. Eager messages are copied within MPI_Isend, so there are several sizes
 * of each protocol. A sample is the median of its repetitions, less what two looks at the clock cost: a call takes less
 * than a microsecond, and an interrupt many. */
#include "calibrate/benchmark/benchmarks.h"
#include "share/base/statistics.h"

enum overhead_mode { SEND, RECEIVE, OVERHEAD_N_MODES };
enum { OVERHEAD_REPEATS_MAX = 1024, OVERHEAD_WARM_UPS = 8, OVERHEAD_DATA_TAG = 1, OVERHEAD_GO_TAG = 2 };

/* Least value of a sample, s: the clock's own cost may vary by more than a call takes. */
#define CALL_MIN_S 1e-9

static const char *const overhead_variants[OVERHEAD_N_MODES] = {"send", "receive"};
static const uint64_t overhead_sizes[] = {8, 1024, 2048, 4000, 8192, 32768, 262144};

static void overhead_list(const struct measure *measure, struct item_list *list)
{
    one_pair_list(measure, list, LEVEL_INTRA_SOCKET, LEVEL_INTER_NODE,
                  &(struct one_pair_plan){overhead_variants, OVERHEAD_N_MODES, overhead_sizes,
                                          sizeof overhead_sizes / sizeof overhead_sizes[0], OVERHEAD_REPEATS_MAX});
}

/* Returns the apparent time of an empty call. */
static double clock_cost_s(void)
{
    double least_s = 1;
    for (int i = 0; i < 16; i++) {
        double begin_s = clock_now_s(), seconds = clock_now_s() - begin_s;
        least_s = seconds < least_s ? seconds : least_s;
    }
    return least_s;
}

/* Sends one message and returns what its MPI_Isend took. */
static double overhead_send_one(struct measure *measure, const struct task *task, char *data)
{
    MPI_Request request;
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, OVERHEAD_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
    double begin_s = clock_now_s();
    MPI_Isend(data, (int)task->bytes, MPI_BYTE, task->partner, OVERHEAD_DATA_TAG, measure->comm, &request);
    double seconds = clock_now_s() - begin_s;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return seconds;
}

/* Receives it and returns what its MPI_Irecv took. */
static double overhead_receive_one(struct measure *measure, const struct task *task, char *data)
{
    MPI_Request request;
    double begin_s = clock_now_s();
    MPI_Irecv(data, (int)task->bytes, MPI_BYTE, task->partner, OVERHEAD_DATA_TAG, measure->comm, &request);
    double seconds = clock_now_s() - begin_s;
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, OVERHEAD_GO_TAG, measure->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return seconds;
}

static double overhead_exchange(struct measure *measure, const struct task *task)
{
    double cost_s = clock_cost_s(), seconds[OVERHEAD_REPEATS_MAX];
    for (int i = -OVERHEAD_WARM_UPS; i < task->repeats; i++) {
        char *data = measure_data(measure, task, task->bytes);
        double call_s = (task->is_first ? overhead_send_one : overhead_receive_one)(measure, task, data);
        if (i >= 0)
            seconds[i] = call_s > cost_s + CALL_MIN_S ? call_s - cost_s : CALL_MIN_S;
    }
    return task->is_first == (task->mode == SEND) ? unsorted_median(seconds, (size_t)task->repeats) : 0;
}

const struct benchmark_program overhead_program = {
    .name = "overhead",
    .summary = "What MPI_Isend and MPI_Irecv cost their caller.",
    .list = overhead_list,
    .exchange = overhead_exchange,
};
