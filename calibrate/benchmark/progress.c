/* Measures who must be inside MPI for bytes to move while the program computes (share/doc/MODELS.md, Whole run).
 *
 * One pair of each level exchanges one message at a time. When both are ready the receive is posted and the sender told
 * to go; the sender posts. Then the sender, the receiver or both compute, that is look at the clock and call no MPI,
 * for twice as long as the transfer takes when neither computes. A side that does not compute is inside MPI all the
 * time, the sender even after its send is complete, for it waits for the receiver's word that the message is there. A
 * sample says what was left: the time from the end of the computation until the receiver has the message, by the
 * receiver's clock. Nothing is left of what moved meanwhile, a whole transfer of what did not (fit/fit_progress.c). The
 * variant `alone` is the transfer itself.
 *
 * The two posts come as in a program, one latency apart, and nothing is called between post and computation: one call
 * would be enough for a receiver that copies by itself (CMA, XPMEM, KNEM), and it would seem that neither was needed.
 * So the handshake of a rendezvous, too, is left to the side inside MPI. */
#include "calibrate/benchmark/benchmarks.h"
#include "share/base/statistics.h"

enum progress_mode { PROGRESS_ALONE, SENDER, RECEIVER, BOTH, PROGRESS_N_MODES };
enum {
    PROGRESS_REPEATS_MAX = 128,
    PLAIN_SHARE = 8,
    PLAIN_MIN = 2,
    PROGRESS_DATA_TAG = 1,
    READY_TAG,
    PROGRESS_GO_TAG,
    DONE_TAG
};

/* Length of a computation over that of the transfer, and at least, s: enough for a network's own latencies. */
#define COMPUTE_TIMES 2
#define COMPUTE_MIN_S 20e-6

/* Sample where nothing was left, s: a sample is above 0. */
#define LEFT_MIN_S 1e-9

static const char *const progress_variants[PROGRESS_N_MODES] = {"alone", "sender", "receiver", "both"};
static const uint64_t progress_sizes[] = {8, 32768, 262144};

static void progress_list(const struct measure *measure, struct item_list *list)
{
    one_pair_list(measure, list, LEVEL_INTRA_SOCKET, LEVEL_INTER_NODE,
                  &(struct one_pair_plan){progress_variants, PROGRESS_N_MODES, progress_sizes,
                                          sizeof progress_sizes / sizeof progress_sizes[0], PROGRESS_REPEATS_MAX});
}

static void compute(double seconds)
{
    double end_s = clock_now_s() + seconds;
    while (clock_now_s() < end_s)
        ;
}

static void progress_send_one(struct measure *measure, const struct task *task, const char *data)
{
    MPI_Request request;
    double compute_s;
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, READY_TAG, measure->comm);
    MPI_Recv(&compute_s, 1, MPI_DOUBLE, task->partner, PROGRESS_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
    MPI_Isend(data, (int)task->bytes, MPI_BYTE, task->partner, PROGRESS_DATA_TAG, measure->comm, &request);
    if (task->mode == SENDER || task->mode == BOTH)
        compute(compute_s);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, DONE_TAG, measure->comm, MPI_STATUS_IGNORE);
}

/* Returns the time from the posts, less that of the computation, until the message was there. */
static double progress_receive_one(struct measure *measure, const struct task *task, char *data, double compute_s)
{
    MPI_Request request;
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, READY_TAG, measure->comm, MPI_STATUS_IGNORE);
    MPI_Irecv(data, (int)task->bytes, MPI_BYTE, task->partner, PROGRESS_DATA_TAG, measure->comm, &request);
    MPI_Send(&compute_s, 1, MPI_DOUBLE, task->partner, PROGRESS_GO_TAG, measure->comm);
    double begin_s = clock_now_s();
    if (task->mode == RECEIVER || task->mode == BOTH)
        compute(compute_s);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    double left_s = clock_now_s() - begin_s - compute_s;
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, DONE_TAG, measure->comm);
    return left_s > LEFT_MIN_S ? left_s : LEFT_MIN_S;
}

/* Makes n <= REPEATS_MAX transfers and returns their median; 0 for the sender. */
static double transfers(struct measure *measure, const struct task *task, int n, double compute_s)
{
    double seconds[PROGRESS_REPEATS_MAX];
    for (int i = 0; i < n; i++) {
        char *data = measure_data(measure, task, task->bytes);
        if (task->is_first)
            progress_send_one(measure, task, data);
        else
            seconds[i] = progress_receive_one(measure, task, data, compute_s);
    }
    return task->is_first ? 0 : unsorted_median(seconds, (size_t)n);
}

static double progress_exchange(struct measure *measure, const struct task *task)
{
    struct task plain = *task;
    plain.mode = PROGRESS_ALONE;
    (void)transfers(measure, &plain, 1, 0);
    if (task->mode == PROGRESS_ALONE)
        return transfers(measure, task, task->repeats, 0);
    double transfer_s = transfers(measure, &plain, PLAIN_MIN + task->repeats / PLAIN_SHARE, 0);
    double compute_s = COMPUTE_TIMES * transfer_s;
    return transfers(measure, task, task->repeats, compute_s > COMPUTE_MIN_S ? compute_s : COMPUTE_MIN_S);
}

const struct benchmark_program progress_program = {
    .name = "progress",
    .summary = "Who must be inside MPI for bytes to move while the program computes.",
    .list = progress_list,
    .exchange = progress_exchange,
};
