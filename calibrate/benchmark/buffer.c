/* Measures the bytes that the transport takes without a receiver's progress: B of share/doc/MODELS.md, flow.
 *
 * First there is one message of 1 MiB. The receiver waits until it can be received (MPI_Iprobe), posts the receive,
 * which lets a rendezvous go on, and then sleeps: it makes no MPI call until the pause is over. The sender starts an
 * MPI_Isend and calls MPI_Test until it is complete. A send that completes before the receiver wakes is taken, else it
 * is refused. A single copy within shared memory is no buffer: there the receiver itself fetches the message, within
 * MPI_Irecv. It shows in the last byte, which is there when MPI_Irecv returns, while the send was not complete before;
 * this counts as refused. The acknowledgement of a rendezvous must leave within MPI_Irecv, as with Open MPI's ob1 and
 * UCX. An MPI that sends it later is measured up to its eager limit.
 *
 * If 1 MiB is refused, also with a longer pause, the size from which messages are refused is searched in the same way
 * (plan.h, to 2 %).
 *
 * If it is taken, the transport buffers, and its windows grow with use: TCP widens the receiver's window whenever much
 * is read at once, that is after every pause, up to net.ipv4.tcp_rmem. A search would find what it caused itself. So
 * each pair of ranks and direction is paused once only, after plain transfers that leave the windows as use does. The
 * sender starts one small message after the other, until one is not complete for longer than the transport stops for
 * other reasons. Its buffers have taken those that were complete. The receiver sleeps all the time.
 *
 * n numbers the searches, or the pairs and directions, from 2 on after the 1 MiB. The seconds of a sample are those
 * from the receive, or the start where none was needed, until the send was complete; or the pause. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/measure/plan.h"
#include "calibrate/benchmark/benchmarks.h"

enum { BUFFER_PAIRS_A_LEVEL = 8, SEARCHES = 5, STREAMS = 9, BUFFER_WARM_UPS = 4 };
enum { BUFFER_DATA_TAG = 1, BUFFER_END_TAG, PLAIN_TAG };

#define FIRST_BYTES          1024u
#define LARGE_BYTES          1048576u
#define BUFFER_WARM_UP_BYTES 4194304u
#define BUFFER_SMALL_BYTES   4000u /* eager everywhere */
#define RESOLUTION           0.02
#define PAUSE_MIN_S          20e-3
#define PAUSE_TIMES          3     /* a pause is so many times a plain transfer */
#define BUFFER_STREAM_BYTES  1.6e7 /* a pause suffices for so many bytes, and lasts STREAM_S longer */
#define STREAM_S             0.15
#define STREAM_PAUSE_S       16.0 /* at most */
#define BUFFER_AGAIN_TIMES   2
#define HOLD_S               2e-3 /* between a message and its receive: an eager one is complete by then */
#define TAKEN_SHARE          0.8  /* of the pause: what is complete later counts as refused */
/* Time without progress after which a message counts as stopped, s: TCP alone waits 0.2 s and more before it sends a
 * lost packet again, or asks whether a window that was closed is open. */
#define STOPPED_S 0.35

enum method { ONE_MESSAGE, BUFFER_STREAM };

/* State of the search at one level. */
struct level_search {
    enum method method;
    struct bisection bisection; /* the search that is under way */
    struct item item;
    struct pair pairs[2 * BUFFER_PAIRS_A_LEVEL]; /* both directions, in random order */
    double rate[2 * BUFFER_PAIRS_A_LEVEL];       /* B/s of a plain transfer, 0: not measured */
    size_t n_pairs;
    double pause_s; /* pause of the next stream, 0: by the rate */
    size_t done;    /* how many searches, or pairs */
    bool searches;
    bool slow;        /* a message was taken that had been refused: short pauses are no evidence */
    bool found;       /* at least one boundary was found */
    double longest_s; /* longest of those */
    double begin_s;
};

/* Returns the seconds since the start of the task, on the common clock. */
static double elapsed_s(const struct measure *measure, const struct task *task)
{
    return clock_now_s() + measure->offset_s - task->start_s;
}

/* Sends one message, from 1 byte on, to a receiver that posts the receive and makes no MPI call until its pause is
 * over. */
static void buffer_send_one(const struct measure *measure, const struct task *task, const char *data)
{
    MPI_Request request;
    MPI_Isend(data, (int)task->bytes, MPI_BYTE, task->partner, BUFFER_DATA_TAG, measure->comm, &request);
    wait_yielding(1, &request);
    double complete_s = elapsed_s(measure, task);
    MPI_Send(&complete_s, 1, MPI_DOUBLE, task->partner, BUFFER_END_TAG, measure->comm);
}

/* Returns the seconds from the receive, or from the start where none was needed, until the send was complete; the
 * pause where it was not by TAKEN_SHARE of the pause, or the receiver fetched the message itself within MPI_Irecv. */
static double buffer_receive_one(const struct measure *measure, const struct task *task, char *data, double pause_s)
{
    double complete_s, limit_s = TAKEN_SHARE * pause_s;
    volatile char *last = data + task->bytes - 1; /* volatile, as MPI may write it */
    MPI_Request request;
    int arrived = 0;
    *last = 0;
    while (!arrived) {
        MPI_Iprobe(task->partner, BUFFER_DATA_TAG, measure->comm, &arrived, MPI_STATUS_IGNORE);
        sched_yield();
    }
    clock_sleep_s(HOLD_S);
    double receive_s = elapsed_s(measure, task);
    MPI_Irecv(data, (int)task->bytes, MPI_BYTE, task->partner, BUFFER_DATA_TAG, measure->comm, &request);
    bool fetched = *last != 0;
    clock_sleep_s(pause_s);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&complete_s, 1, MPI_DOUBLE, task->partner, BUFFER_END_TAG, measure->comm, MPI_STATUS_IGNORE);
    double after_s = complete_s - receive_s;
    if (after_s < 0)
        return complete_s < limit_s ? complete_s : limit_s;
    return after_s < limit_s && !fetched ? after_s : pause_s;
}

/* Starts a message when the one before is complete. Returns the number of messages that were complete when the next
 * one stopped; 0 where none stopped by TAKEN_SHARE of the pause. */
static int buffer_send_stream(const struct measure *measure, const struct task *task, const char *data, double pause_s)
{
    MPI_Request request;
    int complete = 1, sent = 0;
    bool stopped = false;
    double begin_s = clock_now_s(), last_s = begin_s, now_s = begin_s;
    while (!stopped && complete && sent < task->count) {
        MPI_Isend(data, (int)task->bytes, MPI_BYTE, task->partner, BUFFER_DATA_TAG, measure->comm, &request);
        sent++;
        for (complete = 0; !complete && !stopped && now_s - begin_s < TAKEN_SHARE * pause_s; now_s = clock_now_s()) {
            MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
            if (!complete)
                sched_yield();
            stopped = !complete && now_s - last_s > STOPPED_S;
        }
        last_s = now_s;
    }
    MPI_Send(&sent, 1, MPI_INT, task->partner, BUFFER_END_TAG, measure->comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return stopped ? sent - 1 : 0;
}

static void buffer_receive_stream(const struct measure *measure, const struct task *task, char *data, double pause_s)
{
    int sent;
    clock_sleep_s(pause_s);
    MPI_Recv(&sent, 1, MPI_INT, task->partner, BUFFER_END_TAG, measure->comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < sent; i++)
        MPI_Recv(data, (int)task->bytes, MPI_BYTE, task->partner, BUFFER_DATA_TAG, measure->comm, MPI_STATUS_IGNORE);
}

/* Makes one exchange. The mode is the pause in microseconds; below 0 it is that of a stream, which returns the number
 * of its messages in the place of seconds; 0 is a plain transfer. */
static double buffer_exchange(struct measure *measure, const struct task *task)
{
    char *data = measure_data(measure, task, task->bytes);
    double begin_s = clock_now_s();
    if (task->mode > 0 && !task->is_first)
        return buffer_receive_one(measure, task, data, 1e-6 * task->mode);
    if (task->mode < 0 && task->is_first)
        return buffer_send_stream(measure, task, data, -1e-6 * task->mode);
    if (task->mode > 0)
        buffer_send_one(measure, task, data);
    else if (task->mode < 0)
        buffer_receive_stream(measure, task, data, -1e-6 * task->mode);
    if (task->mode != 0)
        return 0;
    if (task->is_first)
        MPI_Send(data, (int)task->bytes, MPI_BYTE, task->partner, PLAIN_TAG, measure->comm);
    else
        MPI_Recv(data, (int)task->bytes, MPI_BYTE, task->partner, PLAIN_TAG, measure->comm, MPI_STATUS_IGNORE);
    return clock_now_s() - begin_s;
}

static void buffer_shuffle(struct pair *pairs, size_t n, unsigned short random[3])
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)nrand48(random) % i;
        struct pair kept = pairs[i - 1];
        pairs[i - 1] = pairs[j];
        pairs[j] = kept;
    }
}

static size_t list_levels(const struct measure *measure, struct level_search *levels, unsigned short random[3])
{
    size_t n_levels = 0;
    for (int i = LEVEL_INTRA_SOCKET; i < LEVEL_COUNT; i++) {
        struct level_search *level = &levels[n_levels];
        size_t n = levels_pairs(&measure->placement, (enum level)i, BUFFER_PAIRS_A_LEVEL, level->pairs);
        for (size_t pair = 0; pair < n; pair++)
            level->pairs[n + pair] = (struct pair){level->pairs[pair].second, level->pairs[pair].first};
        level->n_pairs = 2 * n;
        buffer_shuffle(level->pairs, level->n_pairs, random);
        level->item = (struct item){.level = (enum level)i, .variant = "", .count = 1, .repeats = 1};
        n_levels += n > 0;
    }
    return n_levels;
}

static double buffer_sample(struct measure *measure, struct level_search *level, uint64_t bytes, double mode_s)
{
    level->item.bytes = bytes;
    level->item.mode = (int)(1e6 * mode_s);
    double seconds = measure_once(measure, &level->item);
    measure->late += seconds < 0;
    return seconds;
}

static void buffer_write_row(const struct measure *measure, struct level_search *level, uint64_t bytes, bool taken,
                             double seconds)
{
    level->item.bytes = bytes;
    level->item.variant = taken ? "taken" : "refused";
    measure_write(measure, &level->item, 1, seconds);
}

static double *rate_of(struct level_search *level)
{
    return &level->rate[level->done % level->n_pairs];
}

/* Turns to the next pair, warms it up and measures its rate. */
static void turn(struct measure *measure, struct level_search *level)
{
    double *rate = rate_of(level);
    level->begin_s = clock_now_s();
    level->item.pair = level->pairs[level->done % level->n_pairs];
    level->item.n = level->done + (level->method == BUFFER_STREAM ? 2 : 1);
    for (int i = 0; i < BUFFER_WARM_UPS && level->done < level->n_pairs; i++) {
        double seconds = buffer_sample(measure, level, BUFFER_WARM_UP_BYTES, 0);
        if (seconds > 0 && BUFFER_WARM_UP_BYTES / seconds > *rate)
            *rate = BUFFER_WARM_UP_BYTES / seconds;
    }
}

static void end(struct level_search *level)
{
    double took_s = clock_now_s() - level->begin_s;
    level->longest_s = took_s > level->longest_s ? took_s : level->longest_s;
    level->begin_s = 0;
    level->done++;
}

/* Measures one message; returns false where the sample was lost. */
static bool buffer_ask(struct measure *measure, struct level_search *level, uint64_t bytes, bool again, bool *taken)
{
    double pause_s = *rate_of(level) > 0 ? PAUSE_TIMES * (double)bytes / *rate_of(level) : 0;
    pause_s = pause_s < PAUSE_MIN_S ? PAUSE_MIN_S : pause_s;
    if (again || level->slow)
        pause_s = BUFFER_AGAIN_TIMES * pause_s + STOPPED_S;
    double seconds = buffer_sample(measure, level, bytes, pause_s);
    if (!(seconds > 0))
        return false;
    *taken = seconds < (TAKEN_SHARE + 1) / 2 * pause_s;
    buffer_write_row(measure, level, bytes, *taken, seconds);
    return true;
}

/* Begins the streams: the pair that was asked comes last, since it was paused already, or not at all where there are
 * others. */
static void begin_streams(struct level_search *level)
{
    struct pair asked = level->pairs[0];
    for (size_t i = 1; i < level->n_pairs; i++)
        level->pairs[i - 1] = level->pairs[i];
    level->pairs[level->n_pairs - 1] = asked;
    level->n_pairs -= level->n_pairs > 2;
    level->method = BUFFER_STREAM;
    level->begin_s = 0;
    level->rate[0] = 0;
}

/* Makes one message more of a search, or begins the next one. */
static void step_search(struct measure *measure, struct level_search *level)
{
    bool taken = false, again = false;
    for (int i = 0; i < 2 && !level->searches && !taken; i++)
        if (!buffer_ask(measure, level, LARGE_BYTES, i > 0, &taken))
            return;
    if (taken) {
        begin_streams(level);
        return;
    }
    if (!level->searches || bisection_next(&level->bisection, &again) == 0)
        level->bisection =
            (struct bisection){.first_bytes = FIRST_BYTES, .last_bytes = LARGE_BYTES, .resolution = RESOLUTION};
    level->searches = true;
    uint64_t bytes = bisection_next(&level->bisection, &again);
    if (buffer_ask(measure, level, bytes, again, &taken)) {
        bisection_tell(&level->bisection, bytes, taken);
        level->slow = level->slow || (again && taken);
    }
    if (bisection_next(&level->bisection, &again) > 0)
        return;
    level->found = true;
    end(level);
}

/* Makes one stream; where nothing stopped it, the next one has a longer pause. */
static void step_stream(struct measure *measure, struct level_search *level)
{
    double rate = *rate_of(level), pause_s = level->pause_s;
    if (!(pause_s > 0))
        pause_s = (STOPPED_S + STREAM_S + (rate > 0 ? BUFFER_STREAM_BYTES / rate : 0)) / TAKEN_SHARE;
    pause_s = pause_s > STREAM_PAUSE_S ? STREAM_PAUSE_S : pause_s;
    level->item.count = INT32_MAX;
    double messages = buffer_sample(measure, level, BUFFER_SMALL_BYTES, -pause_s);
    if (messages < 0)
        return;
    if (messages > 0) {
        level->found = true;
        level->item.count = (int)messages;
        buffer_write_row(measure, level, (uint64_t)messages * BUFFER_SMALL_BYTES, true, pause_s);
        level->item.count = (int)messages + 1;
        buffer_write_row(measure, level, ((uint64_t)messages + 1) * BUFFER_SMALL_BYTES, false, pause_s);
    } else {
        level->pause_s = 1.5 * pause_s;
    }
    end(level);
}

/* Makes one step of a level; returns false where it is at its end, or there is no time for one more search or pair. */
static bool step(struct measure *measure, struct level_search *level, double end_s)
{
    size_t streams = level->n_pairs < STREAMS ? level->n_pairs : STREAMS;
    size_t limit = level->method == BUFFER_STREAM ? streams : SEARCHES;
    if (!(level->begin_s > 0)) {
        if (level->done == limit || clock_now_s() + level->longest_s > end_s)
            return false;
        turn(measure, level);
    }
    (level->method == BUFFER_STREAM ? step_stream : step_search)(measure, level);
    return true;
}

static void buffer_lead(struct measure *measure)
{
    struct level_search levels[LEVEL_COUNT] = {{.done = 0}};
    unsigned short random[3] = {(unsigned short)measure->seed, (unsigned short)(measure->seed >> 16), 2};
    double end_s = measure->begin_s + measure->seconds;
    size_t open[LEVEL_COUNT], n_levels = list_levels(measure, levels, random), n_open = n_levels;
    for (size_t i = 0; i < n_open; i++)
        open[i] = i;
    while (n_open > 0 && clock_now_s() < end_s) {
        size_t i = (size_t)nrand48(random) % n_open;
        if (!step(measure, &levels[open[i]], end_s))
            open[i] = open[--n_open];
    }
    for (size_t i = 0; i < n_levels; i++)
        if (!levels[i].found)
            fprintf(stderr, MEASURE_NOTE "incomplete %s %s: no boundary found in %g s; increase --seconds\n",
                    measure->program->name, level_name[levels[i].item.level], measure->seconds);
}

const struct benchmark_program buffer_program = {
    .name = "buffer",
    .summary = "The bytes that the transport takes while the receiver is paused.",
    .lead = buffer_lead,
    .exchange = buffer_exchange,
};
