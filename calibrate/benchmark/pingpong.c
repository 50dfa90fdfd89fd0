/* Measures the latency and bandwidth of a single message by ping-pong, for every level that the job spans and all sizes
 * from 1 B to 4 MiB, so that each protocol of the MPI has its own (B section 2; the benchmark is the one of B's
 * tables).
 *
 * One pair exchanges at a time. A level has up to four pairs, a socket up to four of each domain (pairs that share an
 * L3, a NUMA node, the package only): one fast pair must not speak for a socket. A sample is a loop of round trips, its
 * seconds half of one. Some round trips before it, which do not count, bring both ranks together and the loop into
 * swing. Every repetition uses another place of a long buffer. Papers are named as in share/doc/MODELS.md. */
#include "calibrate/benchmark/benchmarks.h"

enum { PINGPONG_PAIRS_A_LEVEL = 4, PINGPONG_REPEATS_MAX = 8192, PINGPONG_WARM_SHARE = 16, PINGPONG_DATA_TAG = 1 };

#define PINGPONG_BYTES_MAX 4194304u

static void pingpong_append(const struct measure *measure, struct item_list *list, enum level level, enum domain domain)
{
    struct pair pairs[PINGPONG_PAIRS_A_LEVEL];
    size_t n = levels_domain_pairs(&measure->placement, level, domain, PINGPONG_PAIRS_A_LEVEL, pairs);
    for (size_t i = 0; i < n; i++)
        item_add_sizes(
            list,
            (struct item){
                .level = level, .repeats = PINGPONG_REPEATS_MAX, .pair = pairs[i], .domain = domain_name[domain]},
            1, PINGPONG_BYTES_MAX, 2);
}

static void pingpong_list(const struct measure *measure, struct item_list *list)
{
    uint64_t n_rank_pairs[DOMAIN_COUNT];
    levels_domains(&measure->placement, n_rank_pairs);
    for (enum domain domain = 0; domain < DOMAIN_COUNT; domain++)
        if (n_rank_pairs[domain] > 0)
            pingpong_append(measure, list, LEVEL_INTRA_SOCKET, domain);
    for (enum level level = LEVEL_INTER_SOCKET; level < LEVEL_COUNT; level++)
        pingpong_append(measure, list, level, DOMAIN_NONE);
}

static void pingpong_round_trips(struct measure *measure, const struct task *task, int bytes, int n)
{
    for (int i = 0; i < n; i++) {
        size_t place = measure_place(measure, (uint64_t)bytes);
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
