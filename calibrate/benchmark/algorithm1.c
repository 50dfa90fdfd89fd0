/* Measures the bandwidth that N processes share, by T Algorithm 1, the bi-directional multi-pair benchmark.
 *
 * N counts the processes of a group that receive at the same time: N = P intra-socket, P/2 on a socket or a node
 * otherwise (T section II.B). N takes the values 2, 4, 8, ... and the last that the job has. N = 1 is a single message
 * in one direction, T's BW_SP. Up to four sockets are measured one after the other, spread over nodes (two groups
 * between sockets, and between nodes); the column ranks names them. N = 1 and 2 on a socket are one pair: where its
 * pairs differ by what they share, there is one pair of each domain. levels.h says which ranks N processes are. A few
 * processes of many on a socket are measured in several selections, in turn: where the memory of two processes happens
 * to lie makes up to a fifth of their bandwidth, for as long as they live.
 *
 * Each rank posts all repetitions, each at another place of a long buffer, and waits for all. A sample is several such
 * executions back to back, as many as last about 1 ms, so that what a start costs does not count. Its seconds are the
 * slowest rank's, repetitions divided out (share/doc/MODELS.md, The bandwidth table, rule 7). */
#include <stdio.h>

#include "calibrate/benchmark/benchmarks.h"

/* Repetitions of an execution, T's num_repeats: BATCH_MIN of large messages, if they fit in the buffer; of small ones
 * up to BATCH_MAX, as many as BATCH_BYTES hold, or else their start and end would count for more than they do. */
enum { BATCH_MIN = 10, BATCH_MAX = 256, BATCH_BYTES = 524288, ALGORITHM1_REPEATS_MAX = 8192, ALGORITHM1_DATA_TAG = 1 };

#define ALGORITHM1_BYTES_MAX 4194304u

/* Groups measured within a socket, and between sockets or nodes, where they cost more time; selections. Several, since
 * sockets of a node may differ. */
enum { GROUPS_MAX = 4, GROUPS_BETWEEN = 2, SELECTIONS_MAX = 2 };

static struct level_group groups[LEVEL_COUNT][GROUPS_MAX];
static char selection_names[GROUPS_MAX][SELECTIONS_MAX][sizeof groups[0][0].name + 8];

static int batch_of(const struct measure *measure, uint64_t bytes)
{
    uint64_t batch = BATCH_BYTES / bytes, fit = measure->buffer_bytes / (bytes < 64 ? 64 : bytes);
    batch = batch < BATCH_MIN ? BATCH_MIN : batch > BATCH_MAX ? BATCH_MAX : batch;
    return (int)(batch < fit ? batch : fit);
}

/* Returns how many pairs make N processes: N / 2 on a socket, N between two. */
static size_t pairs_of(enum level level, size_t n)
{
    return level == LEVEL_INTRA_SOCKET && n > 1 ? n / 2 : n;
}

static size_t last_n(enum level level, const struct level_group *group)
{
    return level == LEVEL_INTRA_SOCKET ? 2 * group->n_pairs : group->n_pairs;
}

/* Appends all sizes of one N in one group. */
static void algorithm1_append(const struct measure *measure, struct item_list *list, enum level level,
                              const char *ranks, size_t n, const struct pair *pairs, enum domain domain)
{
    for (uint64_t bytes = 1; bytes <= ALGORITHM1_BYTES_MAX; bytes *= 2)
        item_add(list, (struct item){.level = level,
                                     .mode = n > 1 ? BATCHES_BOTH_WAYS : BATCHES_ONE_WAY,
                                     .n = n,
                                     .bytes = bytes,
                                     .repeats = ALGORITHM1_REPEATS_MAX,
                                     .batch = batch_of(measure, bytes),
                                     .n_pairs = pairs_of(level, n),
                                     .pairs = pairs_of(level, n) > 1 ? pairs : NULL,
                                     .pair = pairs[0],
                                     .ranks = ranks,
                                     .domain = domain_name[domain]});
}

/* Appends N = 1 and 2 on a socket, which are one pair: one of each domain that the group has. */
static void append_single(const struct measure *measure, struct item_list *list, const struct level_group *group,
                          size_t n, const uint64_t *n_rank_pairs)
{
    struct pair pair;
    for (int domain = 0; domain < DOMAIN_COUNT; domain++)
        if (n_rank_pairs[domain] > 0 && level_group_pair(&measure->placement, group, (enum domain)domain, &pair))
            algorithm1_append(measure, list, LEVEL_INTRA_SOCKET, group->name, n, &pair, (enum domain)domain);
}

/* Appends N processes of a socket whose pairs are alike: disjoint selections of its pairs, as many as it has. */
static void append_selections(const struct measure *measure, struct item_list *list, int index, size_t n)
{
    const struct level_group *group = &groups[LEVEL_INTRA_SOCKET][index];
    size_t n_pairs = pairs_of(LEVEL_INTRA_SOCKET, n);
    for (size_t i = 0; i < SELECTIONS_MAX && (i + 1) * n_pairs <= group->n_pairs; i++) {
        char *name = selection_names[index][i];
        if (i == 0)
            snprintf(name, sizeof selection_names[index][i], "%s", group->name);
        else
            snprintf(name, sizeof selection_names[index][i], "%s.%zu", group->name, i + 1);
        algorithm1_append(measure, list, LEVEL_INTRA_SOCKET, name, n, group->pairs + i * n_pairs, DOMAIN_NONE);
    }
}

/* Lists N as the largest group has them; a smaller group takes part as far as it goes. */
static void list_level(const struct measure *measure, struct item_list *list, enum level level,
                       const uint64_t *n_rank_pairs)
{
    struct level_group *found = groups[level];
    int n_groups =
        level_groups_find(&measure->placement, level, level == LEVEL_INTRA_SOCKET ? GROUPS_MAX : GROUPS_BETWEEN, found);
    size_t last = n_groups > 0 ? last_n(level, &found[0]) : 0;
    for (size_t n = 1; n <= last; n = level_next_n(n, last))
        for (int i = 0; i < n_groups; i++)
            if (level == LEVEL_INTRA_SOCKET && n <= 2 && n_rank_pairs[DOMAIN_NONE] == 0)
                append_single(measure, list, &found[i], n, n_rank_pairs);
            else if (level == LEVEL_INTRA_SOCKET)
                append_selections(measure, list, i, n);
            else if (n <= last_n(level, &found[i]))
                algorithm1_append(measure, list, level, found[i].name, n, found[i].pairs, DOMAIN_NONE);
}

static void algorithm1_list(const struct measure *measure, struct item_list *list)
{
    uint64_t n_rank_pairs[DOMAIN_COUNT];
    levels_domains(&measure->placement, n_rank_pairs);
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++)
        list_level(measure, list, level, n_rank_pairs);
}

/* Executes the algorithm once with n repetitions. */
static void execute(struct measure *measure, const struct task *task, int n)
{
    MPI_Request requests[2 * BATCH_MAX];
    MPI_Status statuses[2 * BATCH_MAX];
    size_t place, stride = measure_places(measure, task->bytes, n, &place);
    char *sent = measure->send_buffer + place, *received = measure->recv_buffer + place;
    int bytes = (int)task->bytes, n_requests = 0;
    bool sends = task->is_first || task->mode == BATCHES_BOTH_WAYS,
         receives = !task->is_first || task->mode == BATCHES_BOTH_WAYS;
    for (int i = 0; i < n; i++, sent += stride, received += stride) {
        if (task->is_first && sends)
            MPI_Isend(sent, bytes, MPI_BYTE, task->partner, ALGORITHM1_DATA_TAG, measure->comm,
                      &requests[n_requests++]);
        if (receives)
            MPI_Irecv(received, bytes, MPI_BYTE, task->partner, ALGORITHM1_DATA_TAG, measure->comm,
                      &requests[n_requests++]);
        if (!task->is_first && sends)
            MPI_Isend(sent, bytes, MPI_BYTE, task->partner, ALGORITHM1_DATA_TAG, measure->comm,
                      &requests[n_requests++]);
    }
    MPI_Waitall(n_requests, requests, statuses);
}

double batches_exchange(struct measure *measure, const struct task *task)
{
    measure_meet(measure, task);
    double begin_s = clock_now_s();
    for (int left = task->repeats; left > 0; left -= task->batch)
        execute(measure, task, left < task->batch ? left : task->batch);
    return (clock_now_s() - begin_s) / task->repeats;
}

const struct benchmark_program algorithm1_program = {
    .name = "algorithm1",
    .summary = "Bi-directional multi-pair benchmark: the bandwidth that N processes of a socket or node share.",
    .list = algorithm1_list,
    .exchange = batches_exchange,
};
