/* Measures what a message of many costs that is not its bytes, for each interface by which parts of a buffer can be
 * sent (share/doc/MODELS.md, Fine-grained messages).
 *
 * A pair of each level moves the same bytes as few large messages and as many small ones. What is the same for both
 * (bytes, the way there, the first message's latency) cancels, so that the difference over the messages that there are
 * more is the cost of one (fit/fit_fine.c). Messages of one pair stand for those to several peers: they go
 * through one rank's MPI one after the other.
 *   - p2p: MPI_Irecv are posted, then the sender is told to go and posts MPI_Isend. The receiver's time counts.
 *   - threads: the same, but two threads of the sender post half of the messages each at the same time.
 *   - partitioned: both sides have started, then the sender is told to go: MPI_Pready for each. The receiver's time
 *     counts. An MPI before version 4 has none.
 *   - early: whether the first of several partitions arrives before the last is ready (fine_early).
 *   - rma: MPI_Put into a window that was locked by all once, MPI_Win_flush. The origin's time counts; the target waits
 *     in MPI_Recv, since some MPIs put only while the target is inside MPI.
 *   - p2p, rma and partitioned with n = 2: both ranks send at once, from places that no cache has (fine_both_p2p). What
 *     the same bytes take by each of them gives the rate of one over that of another; many partitioned requests over
 *     few, what a request costs that no partition of it does.
 * All of it is under MPI_THREAD_MULTIPLE, as a program is whose threads send; a program of its own does so, since its
 * locks would cost every other benchmark. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "calibrate/benchmark/benchmarks.h"

enum fine_mode { P2P, THREADS, RMA, PARTITIONED, EARLY, BOTH_P2P, BOTH_RMA, BOTH_PARTITIONED, FINE_N_MODES };
enum { FINE_REPEATS_MAX = 256, BOTH_COUNT_MAX = 32, FINE_COUNT_MAX = 128 };
enum { FINE_GO_TAG = 1, FINE_DATA_TAG = 2 };

/* 1 where the MPI has partitioned messages that work; Open MPI 5.0, an MPI 3.1, has them half. */
#define HAS_PARTITIONED (MPI_VERSION >= 4)
/* Time for which the receiver waits for the first partition, s. */
#define EARLY_S 20e-3

#define FINE_MIB 1048576u

/* Size of a window, B; that of the buffers where these are smaller. */
#define WINDOW_BYTES (8 * FINE_MIB)

static const char *const fine_variants[FINE_N_MODES] = {"p2p",   "threads", "rma", "partitioned",
                                                        "early", "p2p",     "rma", "partitioned"};

/* Lists totals and numbers of messages one way. The smaller total is of eager messages nearly everywhere, the larger
 * one of those by rendezvous. */
struct fine_shape {
    uint64_t bytes;
    int count;
};
static const struct fine_shape fine_shapes[] = {{16384, 8}, {16384, 32}, {16384, 128}, {FINE_MIB, 2}, {FINE_MIB, 16}};
enum { EARLY_COUNT = 8 }; /* shapes with more show nothing else */
enum { FINE_N_SHAPES = sizeof fine_shapes / sizeof fine_shapes[0] };

/* Totals and numbers both ways: for the comparison of rates, and for requests. */
static const struct fine_shape both_shapes[] = {{4 * FINE_MIB, 4}, {16384, 8}, {16384, BOTH_COUNT_MAX}};
enum { N_BOTH_SHAPES = sizeof both_shapes / sizeof both_shapes[0] };

static bool has_mode[FINE_N_MODES]; /* the same on all ranks */
static MPI_Win fine_window = MPI_WIN_NULL;
static size_t fine_window_bytes;
static MPI_Request fine_requests[FINE_COUNT_MAX];
static MPI_Status fine_statuses[FINE_COUNT_MAX];

/* Makes the window of all ranks. An MPI may refuse it under MPI_THREAD_MULTIPLE, or on this network. Returns whether
 * all ranks have it. */
static bool make_window(struct measure *measure)
{
    void *memory;
    int has = 0, all = 0;
    fine_window_bytes = measure->buffer_bytes < WINDOW_BYTES ? measure->buffer_bytes : WINDOW_BYTES;
    MPI_Comm_set_errhandler(measure->comm, MPI_ERRORS_RETURN);
    has = MPI_Win_allocate((MPI_Aint)fine_window_bytes, 1, MPI_INFO_NULL, measure->comm, &memory, &fine_window) ==
          MPI_SUCCESS;
    MPI_Comm_set_errhandler(measure->comm, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(&has, &all, 1, MPI_INT, MPI_MIN, measure->control);
    if (all)
        MPI_Win_lock_all(0, fine_window);
    return all != 0;
}

static int fine_prepare(struct measure *measure, bool speak)
{
    int threads;
    MPI_Query_thread(&threads);
    has_mode[P2P] = has_mode[BOTH_P2P] = true;
    has_mode[THREADS] = threads == MPI_THREAD_MULTIPLE;
    has_mode[RMA] = has_mode[BOTH_RMA] = make_window(measure);
    has_mode[PARTITIONED] = has_mode[EARLY] = has_mode[BOTH_PARTITIONED] = HAS_PARTITIONED;
    if (speak && !has_mode[THREADS])
        fprintf(stderr, MEASURE_NOTE "left_out threads: this MPI does not let several threads call it\n");
    if (speak && !has_mode[RMA])
        fprintf(stderr, MEASURE_NOTE "left_out rma: this MPI cannot make a window of all ranks\n");
    return 0;
}

static void fine_release(struct measure *measure)
{
    (void)measure;
    if (!has_mode[RMA])
        return;
    MPI_Win_unlock_all(fine_window);
    MPI_Win_free(&fine_window);
}

/* Returns whether a mode is measured with a shape; the second shapes are both ways. */
static bool is_listed(int mode, const struct fine_shape *shape, bool is_both)
{
    if (!has_mode[mode] || is_both != (mode >= BOTH_P2P))
        return false;
    if (is_both)
        return mode == BOTH_PARTITIONED || shape->bytes >= FINE_MIB;
    return mode != EARLY || shape->count <= EARLY_COUNT;
}

static void list_shapes(const struct measure *measure, struct item_list *list, enum level level, struct pair pair,
                        const struct fine_shape *shapes, size_t n_shapes, bool is_both)
{
    for (size_t i = 0; i < n_shapes; i++)
        for (int mode = 0; mode < FINE_N_MODES; mode++)
            if (is_listed(mode, &shapes[i], is_both) && shapes[i].bytes <= measure->buffer_bytes)
                item_add(list, (struct item){.level = level,
                                             .mode = mode,
                                             .variant = fine_variants[mode],
                                             .n = is_both ? 2 : 1,
                                             .bytes = shapes[i].bytes,
                                             .count = shapes[i].count,
                                             .repeats = mode == EARLY ? 1 : FINE_REPEATS_MAX,
                                             .pair = pair});
}

static void fine_list(const struct measure *measure, struct item_list *list)
{
    struct pair pair;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++)
        if (levels_pairs(&measure->placement, level, 1, &pair) > 0) {
            list_shapes(measure, list, level, pair, fine_shapes, FINE_N_SHAPES, false);
            list_shapes(measure, list, level, pair, both_shapes, N_BOTH_SHAPES, true);
        }
}

/* Waits for the partner's message to go on. */
static void fine_await(const struct measure *measure, const struct task *task)
{
    MPI_Recv(NULL, 0, MPI_BYTE, task->partner, FINE_GO_TAG, measure->comm, MPI_STATUS_IGNORE);
}

static void fine_tell(const struct measure *measure, const struct task *task)
{
    MPI_Send(NULL, 0, MPI_BYTE, task->partner, FINE_GO_TAG, measure->comm);
}

/* Posts the receives of all messages into fine_requests[count]. */
static void fine_post_receives(const struct measure *measure, const struct task *task, char *data)
{
    int bytes = (int)task->bytes / task->count;
    for (int k = 0; k < task->count; k++)
        MPI_Irecv(data + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG + k, measure->comm,
                  &fine_requests[k]);
}

/* Posts the sends of messages first to end - 1. */
static void fine_post_sends(const struct measure *measure, const struct task *task, const char *data, int first,
                            int end, MPI_Request *requests)
{
    int bytes = (int)task->bytes / task->count;
    for (int i = first; i < end; i++)
        MPI_Isend(data + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG + i, measure->comm,
                  &requests[i]);
}

/* Puts all parts of the data behind target of the partner's window. */
static void fine_put_all(const struct task *task, const char *data, size_t target)
{
    int bytes = (int)task->bytes / task->count;
    for (int k = 0; k < task->count; k++) {
        size_t at = (size_t)k * (size_t)bytes;
        MPI_Put(data + at, bytes, MPI_BYTE, task->partner, (MPI_Aint)(target + at), bytes, MPI_BYTE, fine_window);
    }
    MPI_Win_flush(task->partner, fine_window);
}

/* Moves task->bytes to the other rank as task->count messages, puts, or requests of one partition each. In a halo
 * exchange every rank sends while it receives, out of memory that was just computed. So sources are at another place
 * each time, and as far as the window is large enough targets are, and no cache has them: an interface that copies by
 * one processor, or through a smaller buffer, is as slow then as it is in a program. Returns the seconds of one
 * repetition until the own messages are through, at the other rank for puts. */
static double fine_both_p2p(struct measure *measure, const struct task *task)
{
    double seconds = 0;
    for (int i = 0; i < task->repeats; i++) {
        size_t place = measure_place(measure, task->bytes);
        fine_post_receives(measure, task, measure->recv_buffer + place);
        measure_meet(measure, task);
        double begin_s = clock_now_s();
        fine_post_sends(measure, task, measure->send_buffer + place, 0, task->count, &fine_requests[task->count]);
        MPI_Waitall(2 * task->count, fine_requests, fine_statuses);
        seconds += clock_now_s() - begin_s;
    }
    return seconds / task->repeats;
}

static double fine_both_rma(struct measure *measure, const struct task *task)
{
    double seconds = 0;
    for (int i = 0; i < task->repeats; i++) {
        size_t place = measure_place(measure, task->bytes), turns = fine_window_bytes / task->bytes;
        measure_meet(measure, task);
        double begin_s = clock_now_s();
        fine_put_all(task, measure->send_buffer + place, place / task->bytes % turns * task->bytes);
        seconds += clock_now_s() - begin_s;
        measure_meet(measure, task); /* some MPIs put only while the target is inside MPI */
    }
    return seconds / task->repeats;
}

#if HAS_PARTITIONED

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

/* Moves task->bytes as task->count partitions. Returns the seconds of one repetition on the receiver, from its word to
 * the end, and 0 on the sender. */
static double fine_partitioned(struct measure *measure, const struct task *task)
{
    MPI_Request request = make_request(measure, task, measure_data(measure, task, task->bytes));
    double seconds = 0;
    (void)move_all(measure, task, &request); /* with it the two sides find each other */
    for (int i = 0; i < task->repeats; i++)
        seconds += move_all(measure, task, &request);
    MPI_Request_free(&request);
    return task->is_first ? 0 : seconds / task->repeats;
}

/* Makes the first of the partitions ready, and the others only when the receiver has it, or EARLY_S later. Returns the
 * seconds until the receiver has the first one, EARLY_S or more where it has to wait for the others. An MPI may move
 * each partition when it is ready, or all of them when the last one is: the one hides what the other does not. */
static double fine_early(struct measure *measure, const struct task *task)
{
    MPI_Request request = make_request(measure, task, measure_data(measure, task, task->bytes));
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
        for (int arrived = 0; !arrived && seconds < EARLY_S; seconds = clock_now_s() - begin_s)
            MPI_Parrived(request, 0, &arrived);
        fine_tell(measure, task);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return seconds;
}

/* Moves all requests once: receives first, then sends. Returns the seconds of it. */
static double move(const struct measure *measure, const struct task *task)
{
    MPI_Startall(2 * task->count, fine_requests);
    measure_meet(measure, task);
    double begin_s = clock_now_s();
    for (int k = 0; k < task->count; k++)
        MPI_Pready(0, fine_requests[task->count + k]);
    for (int k = 0; k < 2 * task->count; k++) /* MPICH 4.0's MPI_Waitall takes their state for an error */
        MPI_Wait(&fine_requests[k], MPI_STATUS_IGNORE);
    return clock_now_s() - begin_s;
}

static double fine_both_partitioned(struct measure *measure, const struct task *task)
{
    MPI_Count bytes = (MPI_Count)task->bytes / task->count;
    size_t place = measure_place(measure, task->bytes);
    double seconds = 0;
    for (int k = 0; k < task->count; k++) {
        size_t at = place + (size_t)k * (size_t)bytes;
        MPI_Precv_init(measure->recv_buffer + at, 1, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG + k, measure->comm,
                       MPI_INFO_NULL, &fine_requests[k]);
        MPI_Psend_init(measure->send_buffer + at, 1, bytes, MPI_BYTE, task->partner, FINE_DATA_TAG + k, measure->comm,
                       MPI_INFO_NULL, &fine_requests[task->count + k]);
    }
    (void)move(measure, task); /* with it the two sides find each other */
    for (int i = 0; i < task->repeats; i++)
        seconds += move(measure, task);
    for (int k = 0; k < 2 * task->count; k++)
        MPI_Request_free(&fine_requests[k]);
    return seconds / task->repeats;
}

#endif

/* The second thread of a sender, which posts the second half of the messages. */
struct half {
    const struct measure *measure;
    const struct task *task;
    const char *data;
    atomic_int told;     /* number of the repetition that may be sent; the thread waits for it */
    atomic_int finished; /* number of the repetition that it has posted */
};

static void *post_beside(void *context)
{
    struct half *half = context;
    for (int i = 1; i <= half->task->repeats; i++) {
        while (atomic_load(&half->told) < i)
            sched_yield();
        fine_post_sends(half->measure, half->task, half->data, half->task->count / 2, half->task->count, fine_requests);
        atomic_store(&half->finished, i);
    }
    return NULL;
}

/* Sends by one thread, or by two, of which this one waits for all messages, so that no other thread is inside MPI
 * meanwhile. */
static void send_all(struct measure *measure, const struct task *task, const char *data)
{
    bool by_two = task->mode == THREADS;
    struct half second = {.measure = measure, .task = task, .data = data};
    pthread_t thread;
    if (by_two && pthread_create(&thread, NULL, post_beside, &second) != 0)
        abort_all("the second thread cannot be started");
    for (int i = 1; i <= task->repeats; i++) {
        fine_await(measure, task);
        atomic_store(&second.told, i);
        fine_post_sends(measure, task, data, 0, by_two ? task->count / 2 : task->count, fine_requests);
        while (by_two && atomic_load(&second.finished) < i)
            sched_yield();
        MPI_Waitall(task->count, fine_requests, fine_statuses);
    }
    if (by_two)
        pthread_join(thread, NULL);
}

static double fine_p2p(struct measure *measure, const struct task *task)
{
    char *data = measure_data(measure, task, task->bytes);
    double seconds = 0;
    if (task->is_first) {
        send_all(measure, task, data);
        return 0;
    }
    for (int i = 0; i < task->repeats; i++) {
        fine_post_receives(measure, task, data);
        double begin_s = clock_now_s();
        fine_tell(measure, task);
        MPI_Waitall(task->count, fine_requests, fine_statuses);
        seconds += clock_now_s() - begin_s;
    }
    return seconds / task->repeats;
}

static double fine_rma(struct measure *measure, const struct task *task)
{
    const char *data = measure_data(measure, task, task->bytes);
    double seconds = 0;
    if (!task->is_first) {
        fine_tell(measure, task);
        fine_await(measure, task);
        return 0;
    }
    fine_await(measure, task);
    for (int i = 0; i < task->repeats; i++) {
        double begin_s = clock_now_s();
        fine_put_all(task, data, 0);
        seconds += clock_now_s() - begin_s;
    }
    fine_tell(measure, task);
    return seconds / task->repeats;
}

static double fine_exchange(struct measure *measure, const struct task *task)
{
    static double (*const ways[FINE_N_MODES])(struct measure *, const struct task *) = {
        [P2P] = fine_p2p,
        [THREADS] = fine_p2p,
        [RMA] = fine_rma,
        [BOTH_P2P] = fine_both_p2p,
        [BOTH_RMA] = fine_both_rma,
#if HAS_PARTITIONED
        [PARTITIONED] = fine_partitioned,
        [EARLY] = fine_early,
        [BOTH_PARTITIONED] = fine_both_partitioned,
#endif
    };
    return ways[task->mode](measure, task);
}

const struct benchmark_program fine_program = {
    .name = "fine",
    .summary = "What a message of many costs beside its bytes, by MPI_Isend, MPI_Put, MPI_Pready and two threads.",
    .is_threaded = true,
    .prepare = fine_prepare,
    .list = fine_list,
    .exchange = fine_exchange,
    .release = fine_release,
};
