/* Measures how long a small message waits at a network card behind a long stream of its node: backlog and backlog_pair
 * of the machine table (share/doc/MODELS.md, Whole run).
 *
 * A transport keeps bytes ready for the wire, a socket of TCP some in its own buffer and some in the queue of the card.
 * A message of another pair of ranks waits for those in the card's queue, one of the same pair for both. The streaming
 * pair sends large messages from one node to another. The probing pair, other ranks of the same two nodes, exchanges
 * small messages there and back. Variants:
 *
 *     alone    the median of the round trips while nothing else is sent
 *     other    their median while the other pair streams
 *     own      the time of one round trip of the streaming pair, behind what it has posted
 *     stream   the time of the stream, which is the rate of the wire
 *
 * The sender hands over the first message before it posts all others at once, and everything begins when that has
 * arrived: TCP has its window by then and a bucket of the network (burst.c) is empty. The time of the stream, too, is
 * that from the first arrival to the last, and its bytes are those of the messages behind the first. The stream's
 * receiver says itself to the probing rank when it begins and ends, since nothing stands in the way of what goes to the
 * sending node. A round trip that ended later does not count. Where none counts the sample is lost.
 *
 * Where no two nodes have two ranks each, one pair measures all but `other`. A sample takes long on a slow wire, so
 * this leads itself. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/benchmark/benchmarks.h"
#include "share/base/statistics.h"

enum backlog_mode { BACKLOG_ALONE, OTHER, OWN, BACKLOG_STREAM, BACKLOG_N_MODES };
enum { PROBING, STREAMING, N_PAIRS };
enum {
    MESSAGES = 8,
    BACKLOG_MESSAGE_BYTES = 262144,
    BACKLOG_SMALL_BYTES = 8,
    ROUND_TRIPS = 16,
    BACKLOG_SAMPLES_MAX = 12
};
enum { BACKLOG_DATA_TAG = 1, BACKLOG_BEGIN_TAG, BACKLOG_END_TAG, THERE_TAG, BACKLOG_BACK_TAG };

static const char *const backlog_variants[BACKLOG_N_MODES] = {"alone", "other", "own", "stream"};

static size_t n_different;                 /* pairs: 0, 1 or 2 */
static struct pair backlog_pairs[N_PAIRS]; /* the same one twice where there is one only */
static char both_names[80];

/* Returns the next rank behind that one on its node; -1 if there is none. */
static int next_of_node(const struct placement *placement, size_t rank)
{
    for (size_t i = rank + 1; i < placement->n_ranks; i++)
        if (placement->node[i] == placement->node[rank])
            return (int)i;
    return -1;
}

/* Finds two ranks on each of two nodes; returns whether there are. */
static bool find_two(const struct placement *placement)
{
    size_t n = placement->n_ranks, first = 0;
    while (first < n && next_of_node(placement, first) < 0)
        first++;
    for (size_t i = first + 1; i < n; i++) {
        int next = placement->node[i] == placement->node[first] ? -1 : next_of_node(placement, i);
        if (next < 0)
            continue;
        backlog_pairs[PROBING] = (struct pair){(int)first, (int)i};
        backlog_pairs[STREAMING] = (struct pair){next_of_node(placement, first), next};
        return true;
    }
    return false;
}

/* Finds the pairs, on every rank the same ones. */
static int backlog_prepare(struct measure *measure, bool speak)
{
    (void)speak;
    n_different = 2;
    if (!find_two(&measure->placement)) {
        n_different = levels_pairs(&measure->placement, LEVEL_INTER_NODE, 1, &backlog_pairs[PROBING]);
        backlog_pairs[STREAMING] = backlog_pairs[PROBING];
    }
    return 0;
}

/* Receives without keeping the processor, as MPICH would, from another rank of the item. */
static void receive_small(const struct measure *measure, void *data, int bytes, int source, int tag)
{
    MPI_Request request;
    MPI_Irecv(data, bytes, MPI_BYTE, source, tag, measure->comm, &request);
    wait_yielding(1, &request);
}

/* Returns the time of a round trip to the partner, which answers in answer_once(). */
static double ask_once(const struct measure *measure, int partner, const char *word)
{
    char answer[BACKLOG_SMALL_BYTES];
    MPI_Request request;
    double begin_s = clock_now_s();
    MPI_Irecv(answer, BACKLOG_SMALL_BYTES, MPI_BYTE, partner, BACKLOG_BACK_TAG, measure->comm, &request);
    MPI_Send(word, BACKLOG_SMALL_BYTES, MPI_BYTE, partner, THERE_TAG, measure->comm);
    wait_yielding(1, &request);
    return clock_now_s() - begin_s;
}

/* Makes up to ROUND_TRIPS round trips. They end earlier where the request end completes, which may be NULL, and the one
 * during which it does is dropped. Returns their median, 0 without any. */
static double backlog_ask(const struct measure *measure, int partner, MPI_Request *end)
{
    const char go_on[BACKLOG_SMALL_BYTES] = {1}, stop[BACKLOG_SMALL_BYTES] = {0};
    double seconds[ROUND_TRIPS];
    int has_ended = 0;
    size_t n = 0;
    while (n < ROUND_TRIPS && !has_ended) {
        seconds[n] = ask_once(measure, partner, go_on);
        if (end != NULL)
            MPI_Test(end, &has_ended, MPI_STATUS_IGNORE);
        n += !has_ended;
    }
    MPI_Send(stop, BACKLOG_SMALL_BYTES, MPI_BYTE, partner, THERE_TAG, measure->comm);
    return n > 0 ? unsorted_median(seconds, n) : 0;
}

static void answer(const struct measure *measure, int partner)
{
    char word[BACKLOG_SMALL_BYTES];
    for (;;) {
        receive_small(measure, word, BACKLOG_SMALL_BYTES, partner, THERE_TAG);
        if (word[0] == 0)
            return;
        MPI_Send(word, BACKLOG_SMALL_BYTES, MPI_BYTE, partner, BACKLOG_BACK_TAG, measure->comm);
    }
}

/* Makes the round trips of the probing pair, alone or while the other pair streams. */
static double backlog_probe(const struct measure *measure, const struct task *task)
{
    MPI_Request end;
    int receiver = backlog_pairs[STREAMING].second;
    if (!task->is_first) {
        answer(measure, task->partner);
        return 0;
    }
    if (task->mode == BACKLOG_ALONE)
        return backlog_ask(measure, task->partner, NULL);
    MPI_Irecv(NULL, 0, MPI_BYTE, receiver, BACKLOG_END_TAG, measure->comm, &end);
    receive_small(measure, NULL, 0, receiver, BACKLOG_BEGIN_TAG);
    double seconds = backlog_ask(measure, task->partner, &end);
    wait_yielding(1, &end);
    return seconds;
}

/* Sends the stream; returns the time of the own round trip behind it, 0 in other modes. */
static double backlog_send_stream(struct measure *measure, const struct task *task)
{
    const char word[BACKLOG_SMALL_BYTES] = {1};
    MPI_Request requests[MESSAGES];
    double seconds = 0;
    size_t place, stride = measure_places(measure, BACKLOG_MESSAGE_BYTES, MESSAGES, &place);
    for (size_t i = 0; i < MESSAGES; i++) {
        MPI_Isend(measure->send_buffer + place + i * stride, BACKLOG_MESSAGE_BYTES, MPI_BYTE, task->partner,
                  BACKLOG_DATA_TAG, measure->comm, &requests[i]);
        if (i == 0)
            wait_yielding(1, requests);
    }
    if (task->mode == OWN) {
        receive_small(measure, NULL, 0, task->partner, BACKLOG_BEGIN_TAG);
        seconds = ask_once(measure, task->partner, word);
    }
    wait_yielding(MESSAGES, requests);
    return seconds;
}

/* Receives the stream, and reports its begin and end to the rank that sends small messages meanwhile. Returns its time,
 * 0 in other modes than STREAM. */
static double backlog_receive_stream(struct measure *measure, const struct task *task)
{
    char word[BACKLOG_SMALL_BYTES];
    MPI_Request requests[MESSAGES], there;
    size_t place, stride = measure_places(measure, BACKLOG_MESSAGE_BYTES, MESSAGES, &place);
    if (task->mode == OWN)
        MPI_Irecv(word, BACKLOG_SMALL_BYTES, MPI_BYTE, task->partner, THERE_TAG, measure->comm, &there);
    for (size_t i = 0; i < MESSAGES; i++)
        MPI_Irecv(measure->recv_buffer + place + i * stride, BACKLOG_MESSAGE_BYTES, MPI_BYTE, task->partner,
                  BACKLOG_DATA_TAG, measure->comm, &requests[i]);
    wait_yielding(1, requests);
    double begin_s = clock_now_s();
    if (task->mode == OTHER)
        MPI_Send(NULL, 0, MPI_BYTE, backlog_pairs[PROBING].first, BACKLOG_BEGIN_TAG, measure->comm);
    if (task->mode == OWN) {
        MPI_Send(NULL, 0, MPI_BYTE, task->partner, BACKLOG_BEGIN_TAG, measure->comm);
        wait_yielding(1, &there);
        MPI_Send(word, BACKLOG_SMALL_BYTES, MPI_BYTE, task->partner, BACKLOG_BACK_TAG, measure->comm);
    }
    wait_yielding(MESSAGES, requests);
    double seconds = clock_now_s() - begin_s;
    if (task->mode == OTHER)
        MPI_Send(NULL, 0, MPI_BYTE, backlog_pairs[PROBING].first, BACKLOG_END_TAG, measure->comm);
    return task->mode == BACKLOG_STREAM ? seconds : 0;
}

static double backlog_exchange(struct measure *measure, const struct task *task)
{
    const struct pair *probing = &backlog_pairs[PROBING];
    bool probes = measure->rank == probing->first || measure->rank == probing->second;
    if (task->mode == BACKLOG_ALONE || (task->mode == OTHER && probes))
        return backlog_probe(measure, task);
    return task->is_first ? backlog_send_stream(measure, task) : backlog_receive_stream(measure, task);
}

/* Lists the items of this job, OTHER where there are two pairs. */
static void list_items(struct item_list *list)
{
    const struct pair *probing = &backlog_pairs[PROBING], *streaming = &backlog_pairs[STREAMING];
    snprintf(both_names, sizeof both_names, "%d-%d+%d-%d", probing->first, probing->second, streaming->first,
             streaming->second);
    for (int mode = 0; mode < BACKLOG_N_MODES && n_different > 0; mode++)
        if (mode != OTHER || n_different > 1)
            item_add(list, (struct item){.level = LEVEL_INTER_NODE,
                                         .mode = mode,
                                         .variant = backlog_variants[mode],
                                         .bytes = mode == BACKLOG_STREAM ? (MESSAGES - 1) * BACKLOG_MESSAGE_BYTES
                                                                         : BACKLOG_SMALL_BYTES,
                                         .repeats = 1,
                                         .n_pairs = N_PAIRS,
                                         .pairs = mode == OTHER ? backlog_pairs : NULL,
                                         .pair = mode == BACKLOG_ALONE ? *probing : *streaming,
                                         .ranks = mode == OTHER ? both_names : NULL});
}

static void backlog_lead(struct measure *measure)
{
    struct item_list list = {0};
    size_t taken[BACKLOG_N_MODES];
    list_items(&list);
    for (size_t i = 0; i < list.n; i++)
        taken[i] = measure_resumed(measure, &list.items[i], NULL, 0);
    if (list.n == 0)
        fprintf(stderr, MEASURE_NOTE "left_out backlog: all %d ranks are on one node\n", measure->size);
    else if (n_different < 2)
        fprintf(stderr, MEASURE_NOTE "left_out backlog of other pairs: no two nodes have two ranks each\n");
    if (list.n > 0)
        (void)measure_once(measure, &list.items[1]); /* opens connections, and does not count */
    round_robin_measure(measure, list.items, list.n, taken, BACKLOG_SAMPLES_MAX);
    free(list.items);
}

const struct benchmark_program backlog_program = {
    .name = "backlog",
    .summary = "The bytes of a stream for which a small message waits at a network card.",
    .prepare = backlog_prepare,
    .lead = backlog_lead,
    .exchange = backlog_exchange,
};
