/* Measures what one step through the queues of an MPI costs, by many messages in order and in reverse (B section 4.1;
 * share/doc/MODELS.md, Queue search).
 *
 * A rank receives n messages of 8 B with the tags 0 to n - 1. Searched linearly, a queue of n entries costs n steps in
 * all if the messages are asked for in the order in which they stand there, n(n + 1)/2 in the reverse order. Everything
 * else of the two times is the same, so that their difference gives the step (fit/fit_queue.c). B's Algorithm
 * 1 has both queues in one time: its second half posts the receives after the sends, and whether they come too late is
 * chance. Here they are apart:
 *   - posted: the receives are posted, then the sender is told to go, and its messages come in order or reversed. The
 *     time lasts from telling to the end of MPI_Waitall. A search that ends before the next message is there costs
 *     nothing, so that the step seems cheaper at small depths than it is.
 *   - unexpected: the messages are sent, behind them a marker for which a receive is posted already. With the marker,
 *     and once the last message is seen by MPI_Iprobe, all are in the queue. MPI promises that order only for messages
 *     that one receive could match, but all of these take one way. Then the receives are posted, in order or reversed:
 *     the time lasts from the first to the end of MPI_Waitall, which needs no other rank.
 * Every MPI sends 8 B at once (it would send 0 B at once, too; but an application's message has data, which is copied
 * when it is unexpected). Posted messages are sent by MPI_Send, so that no queue of unfinished sends takes part: with
 * Open MPI 10000 in order took 33 ms by MPI_Isend, 2 ms by MPI_Send. Unexpected ones, whose way is not timed, are sent
 * by MPI_Isend, or an MPI told to use rendezvous for 8 B would hang.
 *
 * The sources say what to expect:
 *   - Open MPI 4.1.4, ob1: a linked list of posted receives and one of unexpected messages for each communicator and
 *     source, searched from the front (pml_ob1_recvfrag.c, match_incomming_no_any_source(); pml_ob1_recvreq.c,
 *     recv_req_match_specific_proc()). So it is linear.
 *   - UCX 1.13 has 1021 lists for each of the queues, chosen by the tag modulo 1021, but only for receives whose mask
 *     takes all 64 bits of UCX's tag; for others one list of receives, and the list of all unexpected messages
 *     (ucp/tag/tag_match.inl and .c). Open MPI's pml ucx gives full masks: no difference up to about a thousand tags,
 *     and a thousandth of a linear search beyond. MPICH 4.0.2, ch4:ucx, leaves matching to UCX inside a node too (its
 *     configure leaves out its own shared memory), but clears its two error bits in every mask (ucx_impl.h,
 *     MPIDI_UCX_tag_mask()): it is linear, in one list for all sources and communicators.
 *
 * One pair of the closest level that the job has is measured: the step is the receiving process's own, and does not
 * depend on where the sender is (B section 4.1). */
#include "calibrate/benchmark/benchmarks.h"

enum { QUEUE_MESSAGE_BYTES = 8, DEPTH_MAX = 10000, MARKER_TAG = DEPTH_MAX, QUEUE_GO_TAG };

enum { QUEUE_REPEATS_MAX = 1024 };

enum queue_mode { POSTED_INORDER, POSTED_REVERSED, UNEXPECTED_INORDER, UNEXPECTED_REVERSED, QUEUE_N_MODES };

static const char *const queue_variants[QUEUE_N_MODES] = {"posted_inorder", "posted_reversed", "unexpected_inorder",
                                                          "unexpected_reversed"};
static const int depths[] = {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, DEPTH_MAX};
enum { N_DEPTHS = sizeof depths / sizeof depths[0] };

static MPI_Request queue_requests[DEPTH_MAX];
static MPI_Status queue_statuses[DEPTH_MAX]; /* gcc takes MPICH's MPI_STATUSES_IGNORE for an array that is too short */

static void queue_list(const struct measure *measure, struct item_list *list)
{
    struct pair pair;
    enum level level = LEVEL_INTRA_SOCKET;
    while (level < LEVEL_COUNT && levels_pairs(&measure->placement, level, 1, &pair) == 0)
        level++;
    for (int i = 0; i < N_DEPTHS && level < LEVEL_COUNT; i++)
        for (int mode = 0; mode < QUEUE_N_MODES; mode++)
            item_add(list, (struct item){.level = level,
                                         .mode = mode,
                                         .variant = queue_variants[mode],
                                         .n = (uint64_t)depths[i],
                                         .bytes = QUEUE_MESSAGE_BYTES,
                                         .count = depths[i],
                                         .repeats = QUEUE_REPEATS_MAX,
                                         .pair = pair});
}

/* Returns the i-th tag of n, in order or reversed. */
static int tag_of(int i, int n, bool reversed)
{
    return reversed ? n - 1 - i : i;
}

static void send_posted(struct measure *measure, const struct task *task, const char *data)
{
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, QUEUE_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < task->count; i++)
        MPI_Send(data + (size_t)i * QUEUE_MESSAGE_BYTES, QUEUE_MESSAGE_BYTES, MPI_BYTE, task->partner,
                 tag_of(i, task->count, task->mode == POSTED_REVERSED), measure->comm);
}

static void send_unexpected(struct measure *measure, const struct task *task, const char *data)
{
    MPI_Request marker;
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, QUEUE_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < task->count; i++)
        MPI_Isend(data + (size_t)i * QUEUE_MESSAGE_BYTES, QUEUE_MESSAGE_BYTES, MPI_BYTE, task->partner, i,
                  measure->comm, &queue_requests[i]);
    MPI_Isend(NULL, 0, MPI_BYTE, task->partner, MARKER_TAG, measure->comm, &marker);
    MPI_Waitall(task->count, queue_requests, queue_statuses);
    MPI_Wait(&marker, MPI_STATUS_IGNORE);
}

static void post_all(struct measure *measure, const struct task *task, char *data, bool reversed)
{
    for (int i = 0; i < task->count; i++) {
        int tag = tag_of(i, task->count, reversed);
        MPI_Irecv(data + (size_t)tag * QUEUE_MESSAGE_BYTES, QUEUE_MESSAGE_BYTES, MPI_BYTE, task->partner, tag,
                  measure->comm, &queue_requests[i]);
    }
}

static double receive_posted(struct measure *measure, const struct task *task, char *data)
{
    post_all(measure, task, data, false);
    double begin_s = clock_now_s();
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, QUEUE_GO_TAG, measure->comm);
    MPI_Waitall(task->count, queue_requests, queue_statuses);
    return clock_now_s() - begin_s;
}

static double receive_unexpected(struct measure *measure, const struct task *task, char *data)
{
    MPI_Request marker;
    MPI_Irecv(NULL, 0, MPI_BYTE, task->partner, MARKER_TAG, measure->comm, &marker);
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, QUEUE_GO_TAG, measure->comm);
    MPI_Wait(&marker, MPI_STATUS_IGNORE);
    for (int arrived = 0; !arrived;)
        MPI_Iprobe(task->partner, task->count - 1, measure->comm, &arrived, MPI_STATUS_IGNORE);
    double begin_s = clock_now_s();
    post_all(measure, task, data, task->mode == UNEXPECTED_REVERSED);
    MPI_Waitall(task->count, queue_requests, queue_statuses);
    return clock_now_s() - begin_s;
}

static double queue_exchange(struct measure *measure, const struct task *task)
{
    char *data = measure_data(measure, task, (uint64_t)task->count * QUEUE_MESSAGE_BYTES);
    bool posted = task->mode == POSTED_INORDER || task->mode == POSTED_REVERSED;
    double seconds = 0;
    for (int i = 0; i < task->repeats; i++)
        if (task->is_first)
            (posted ? send_posted : send_unexpected)(measure, task, data);
        else
            seconds += (posted ? receive_posted : receive_unexpected)(measure, task, data);
    return seconds / task->repeats;
}

const struct benchmark_program queue_program = {
    .name = "queue",
    .summary = "Many messages in order and reversed: what one step through the queues of the MPI costs.",
    .list = queue_list,
    .exchange = queue_exchange,
};
