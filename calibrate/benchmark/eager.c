/* Probes the rendezvous threshold: the size from which crossed sends do not return without a receive.
 *
 * Both ranks of a pair start a standard-mode send to each other at the same time and complete it with a timeout, the
 * patience: an MPI_Isend, then MPI_Test until it is complete or the patience is over. (A blocking MPI_Send is the same
 * start and the same progress, but cannot be taken back: here nothing hangs and nothing must be killed.) A message of
 * the eager protocol is taken: it lies in the other rank's memory, or on the way to it. A message of the rendezvous
 * protocol is refused: it waits for the receive. Each rank tells the other, in a message without bytes, that it has its
 * answer; only then do both post the receives, and everything is complete. So no receive can complete a send that is
 * still being tested, however long a rank was kept from running.
 *
 * The patience is a multiple of the time that the largest taken message needed, and is not over before the send was
 * tested many times. The search is to the byte (plan.h), for up to two pairs a level, the second ones after all the
 * first ones; n numbers the pairs. The seconds of a sample are those until the slower send was complete, or the
 * patience. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/measure/plan.h"
#include "calibrate/benchmark/benchmarks.h"

enum { EAGER_PAIRS_A_LEVEL = 2, EAGER_WARM_UPS = 3, TESTS_MIN = 100, EAGER_DATA_TAG = 1, ANSWER_TAG = 2 };

#define EAGER_BYTES_MAX     16777216u
#define EAGER_WARM_UP_BYTES 65536u
#define PATIENCE_MIN_S      10e-3
#define PATIENCE_MAX_S      1.0
#define PATIENCE_TIMES      16 /* times the time of a taken message, at least */
#define EAGER_AGAIN_TIMES   4
#define TAKEN_MAX           0.9 /* share of the patience */

struct eager_probe {
    struct bisection bisection;
    struct item item;
    bool warm;
    double taken_s; /* time of the largest message that was taken */
};

/* Returns whether the send completes without a receive, and after what time. */
static bool is_taken(MPI_Request *send, double patience_s, double *seconds)
{
    double begin_s = clock_now_s();
    int complete = 0;
    *seconds = 0;
    for (int tests = 0; !complete && (*seconds < patience_s || tests < TESTS_MIN); tests++) {
        MPI_Test(send, &complete, MPI_STATUS_IGNORE);
        *seconds = clock_now_s() - begin_s;
        if (!complete)
            sched_yield();
    }
    return complete;
}

/* Returns the patience where the message was refused, else less. */
static double probe_exchange(const struct measure *measure, const struct task *task, const char *sent, char *received)
{
    MPI_Request send, receive, answers[2];
    MPI_Status statuses[2];
    int bytes = (int)task->bytes;
    double patience_s = 1e-6 * task->mode, seconds;
    MPI_Irecv(NULL, 0, MPI_BYTE, task->partner, ANSWER_TAG, measure->comm, &answers[0]);
    MPI_Isend(sent, bytes, MPI_BYTE, task->partner, EAGER_DATA_TAG, measure->comm, &send);
    bool taken = is_taken(&send, patience_s, &seconds);
    MPI_Isend(NULL, 0, MPI_BYTE, task->partner, ANSWER_TAG, measure->comm, &answers[1]);
    MPI_Waitall(2, answers, statuses);
    MPI_Irecv(received, bytes, MPI_BYTE, task->partner, EAGER_DATA_TAG, measure->comm, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    if (!taken)
        return patience_s;
    return seconds < TAKEN_MAX * patience_s ? seconds : TAKEN_MAX * patience_s;
}

/* Makes one exchange. The mode is the patience in microseconds, 0 for an exchange that opens the connection. */
static double eager_exchange(struct measure *measure, const struct task *task)
{
    size_t place = measure_place(measure, task->bytes);
    char *sent = measure->send_buffer + place, *received = measure->recv_buffer + place;
    if (task->mode > 0)
        return probe_exchange(measure, task, sent, received);
    double begin_s = clock_now_s();
    int bytes = (int)task->bytes;
    MPI_Sendrecv(sent, bytes, MPI_BYTE, task->partner, EAGER_DATA_TAG, received, bytes, MPI_BYTE, task->partner,
                 EAGER_DATA_TAG, measure->comm, MPI_STATUS_IGNORE);
    return clock_now_s() - begin_s;
}

static size_t list_probes(const struct measure *measure, struct eager_probe *probes)
{
    size_t n_probes = 0;
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct pair pairs[EAGER_PAIRS_A_LEVEL];
        size_t n_pairs = levels_pairs(&measure->placement, (enum level)level, EAGER_PAIRS_A_LEVEL, pairs);
        for (size_t i = 0; i < n_pairs; i++) {
            struct eager_probe *probe = &probes[n_probes++];
            probe->bisection = (struct bisection){
                .first_bytes = 1,
                .last_bytes = measure->buffer_bytes < EAGER_BYTES_MAX ? measure->buffer_bytes : EAGER_BYTES_MAX,
            };
            probe->item = (struct item){
                .level = (enum level)level,
                .variant = "",
                .n = i + 1,
                .count = 1,
                .repeats = 1,
                .pair = pairs[i],
            };
        }
    }
    return n_probes;
}

static void eager_warm_up(struct measure *measure, struct eager_probe *probe)
{
    probe->item.mode = 0;
    probe->item.bytes = EAGER_WARM_UP_BYTES;
    for (int i = 0; i < EAGER_WARM_UPS; i++)
        (void)measure_once(measure, &probe->item);
}

static void eager_ask(struct measure *measure, struct eager_probe *probe, uint64_t bytes, bool again)
{
    double patience_s = PATIENCE_TIMES * probe->taken_s;
    patience_s = patience_s < PATIENCE_MIN_S   ? PATIENCE_MIN_S
                 : patience_s > PATIENCE_MAX_S ? PATIENCE_MAX_S
                                               : patience_s;
    int patience_us = (int)(1e6 * patience_s) * (again ? EAGER_AGAIN_TIMES : 1);
    probe->item.mode = patience_us;
    probe->item.bytes = bytes;
    double seconds = measure_once(measure, &probe->item);
    if (!(seconds > 0)) {
        measure->late++;
        return;
    }
    bool taken = seconds < (1 + TAKEN_MAX) / 2 * 1e-6 * patience_us;
    if (taken)
        probe->taken_s = seconds;
    bisection_tell(&probe->bisection, bytes, taken);
    probe->item.variant = taken ? "taken" : "refused";
    measure_write(measure, &probe->item, 1, seconds);
}

/* Returns whether an interrupted run has answered this already. A refused size is asked for again; the later answer
 * counts. */
static bool answered(const struct measure *measure, struct eager_probe *probe, uint64_t bytes, bool again)
{
    probe->item.bytes = bytes;
    probe->item.variant = "taken";
    bool taken = measure_resumed(measure, &probe->item, NULL, 0) > 0;
    probe->item.variant = "refused";
    if (!taken && measure_resumed(measure, &probe->item, NULL, 0) < (again ? 2 : 1))
        return false;
    bisection_tell(&probe->bisection, bytes, taken);
    return true;
}

/* Makes one step of a random unfinished probe, the first pairs first; returns false where all are finished. */
static bool ask_one(struct measure *measure, struct eager_probe *probes, size_t n_probes, unsigned short random[3])
{
    size_t open[LEVEL_COUNT * EAGER_PAIRS_A_LEVEL], n_open = 0;
    bool again;
    for (uint64_t n = 1; n <= EAGER_PAIRS_A_LEVEL && n_open == 0; n++)
        for (size_t i = 0; i < n_probes; i++)
            if (probes[i].item.n == n && bisection_next(&probes[i].bisection, &again) > 0)
                open[n_open++] = i;
    if (n_open == 0)
        return false;
    struct eager_probe *probe = &probes[open[(size_t)nrand48(random) % n_open]];
    uint64_t bytes = bisection_next(&probe->bisection, &again);
    if (answered(measure, probe, bytes, again))
        return true;
    if (!probe->warm)
        eager_warm_up(measure, probe);
    probe->warm = true;
    eager_ask(measure, probe, bytes, again);
    return true;
}

/* Notes the result of a probe for the user. */
static void eager_note(const struct measure *measure, const struct eager_probe *probe)
{
    bool again;
    const char *level = level_name[probe->item.level];
    if (probe->bisection.taken_bytes >= probe->bisection.last_bytes)
        fprintf(stderr, MEASURE_NOTE "%s %s, ranks %d-%d: no rendezvous up to %llu B\n", measure->program->name, level,
                probe->item.pair.first, probe->item.pair.second, (unsigned long long)probe->bisection.last_bytes);
    else if (probe->item.n == 1 && bisection_next(&probe->bisection, &again) > 0)
        fprintf(stderr, MEASURE_NOTE "incomplete %s %s: no threshold to the byte in %g s; increase --seconds\n",
                measure->program->name, level, measure->seconds);
}

static void eager_lead(struct measure *measure)
{
    static struct eager_probe probes[LEVEL_COUNT * EAGER_PAIRS_A_LEVEL];
    unsigned short random[3] = {(unsigned short)measure->seed, (unsigned short)(measure->seed >> 16), 1};
    double end_s = measure->begin_s + measure->seconds;
    size_t n_probes = list_probes(measure, probes);
    while (clock_now_s() < end_s && ask_one(measure, probes, n_probes, random))
        ;
    for (size_t i = 0; i < n_probes; i++)
        eager_note(measure, &probes[i]);
}

const struct benchmark_program eager_program = {
    .name = "eager",
    .summary = "The size from which a send waits for its receive: the rendezvous threshold, by probe.",
    .lead = eager_lead,
    .exchange = eager_exchange,
};
