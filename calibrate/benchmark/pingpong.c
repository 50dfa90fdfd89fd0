/* Measures the latency and bandwidth of a single message by ping-pong, for every level that the job spans and all sizes
 * from 1 B to 4 MiB, so that each protocol of the MPI has its own (B section 2; the benchmark is the one of B's
 * tables).
 *
 * One pair exchanges at a time. A level has up to four pairs, a socket up to four of each domain (pairs that share an
 * L3, a NUMA node, the package only): one fast pair must not speak for a socket. A sample is a loop of round trips, its
 * seconds half of one. Some round trips before it, which do not count, bring both ranks together and the loop into
 * swing. Every repetition uses another place of a long buffer. Papers are named as in share/doc/MODELS.md. */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate/measure/shared_clock.h"
#include "calibrate/measure/levels.h"
#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/measure/measure.h"
#include "share/base/memory.h"

enum { PINGPONG_PAIRS_A_LEVEL = 4, PINGPONG_REPEATS_MAX = 8192, PINGPONG_WARM_SHARE = 16, PINGPONG_DATA_TAG = 1 };

#define PINGPONG_BYTES_MAX 4194304u

/* Holds the pairs of one level, and on a socket those of one domain. */
static struct stratum {
    struct pair pairs[PINGPONG_PAIRS_A_LEVEL];
    char names[PINGPONG_PAIRS_A_LEVEL][32];
} strata[LEVEL_COUNT][DOMAIN_COUNT];

static void pingpong_append(struct stratum *stratum, size_t n_pairs, enum level level, enum domain domain,
                            struct item *items, size_t *n_items)
{
    for (size_t i = 0; i < n_pairs; i++) {
        const struct pair *pair = &stratum->pairs[i];
        snprintf(stratum->names[i], sizeof stratum->names[i], "%d-%d", pair->first, pair->second);
        for (uint64_t bytes = 1; bytes <= PINGPONG_BYTES_MAX; bytes *= 2) {
            items[(*n_items)++] = (struct item){
                .level = level,
                .variant = "",
                .n = 1,
                .count = 1,
                .bytes = bytes,
                .repeats = PINGPONG_REPEATS_MAX,
                .n_pairs = 1,
                .pairs = pair,
                .ranks = stratum->names[i],
                .domain = domain_name[domain],
            };
        }
    }
}

static void pingpong_list(const struct measure *measure, struct item **items, size_t *n_items)
{
    size_t n_sizes = 0;
    for (uint64_t bytes = 1; bytes <= PINGPONG_BYTES_MAX; bytes *= 2)
        n_sizes++;
    *items = xcalloc((LEVEL_COUNT + DOMAIN_COUNT) * PINGPONG_PAIRS_A_LEVEL * n_sizes, sizeof **items);
    uint64_t n_rank_pairs[DOMAIN_COUNT];
    levels_domains(&measure->placement, n_rank_pairs);
    for (int domain = 0; domain < DOMAIN_COUNT; domain++) {
        struct stratum *stratum = &strata[LEVEL_INTRA_SOCKET][domain];
        if (n_rank_pairs[domain] > 0)
            pingpong_append(
                stratum,
                levels_domain_pairs(&measure->placement, (enum domain)domain, PINGPONG_PAIRS_A_LEVEL, stratum->pairs),
                LEVEL_INTRA_SOCKET, (enum domain)domain, *items, n_items);
    }
    for (int level = LEVEL_INTER_SOCKET; level < LEVEL_COUNT; level++) {
        struct stratum *stratum = &strata[level][DOMAIN_NONE];
        pingpong_append(stratum,
                        levels_pairs(&measure->placement, (enum level)level, PINGPONG_PAIRS_A_LEVEL, stratum->pairs),
                        (enum level)level, DOMAIN_NONE, *items, n_items);
    }
}

static void pingpong_round_trips(struct measure *measure, const struct task *task, int bytes, int n)
{
    for (int i = 0; i < n; i++) {
        size_t place;
        measure_places(measure, (uint64_t)bytes, 1, &place);
        if (task->is_first)
            MPI_Send(measure->send_buffer + place, bytes, MPI_BYTE, task->partner, PINGPONG_DATA_TAG, measure->comm);
        MPI_Recv(measure->recv_buffer + place, bytes, MPI_BYTE, task->partner, PINGPONG_DATA_TAG, measure->comm,
                 MPI_STATUS_IGNORE);
        if (!task->is_first)
            MPI_Send(measure->send_buffer + place, bytes, MPI_BYTE, task->partner, PINGPONG_DATA_TAG, measure->comm);
    }
}

static double pingpong_exchange(struct measure *measure, const struct task *task)
{
    pingpong_round_trips(measure, task, 0, 1);
    pingpong_round_trips(measure, task, (int)task->bytes, task->repeats / PINGPONG_WARM_SHARE);
    double begin_s = clock_now_s();
    pingpong_round_trips(measure, task, (int)task->bytes, task->repeats);
    /* The second rank's time begins before the first message is on its way, so it does not count. */
    return task->is_first ? (clock_now_s() - begin_s) / (2.0 * task->repeats) : 0;
}

const struct benchmark_program pingpong_program = {
    .name = "pingpong",
    .summary = "Ping-pong between pairs of ranks of every level: latency and bandwidth of a single message.",
    .list = pingpong_list,
    .exchange = pingpong_exchange,
};
