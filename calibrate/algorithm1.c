/* T Algorithm 1, the bi-directional multi-pair benchmark: the bandwidth that N processes share.
 *
 * N = the processes of a group that receive at the same time: N = P intra-socket, P/2 a socket or a node otherwise
 * (T section II.B); N = 2, 4, 8, ... and the last that the job has. N = 1 is a single message in one direction between
 * the first two ranks, T's BW_SP. Each rank posts all repetitions, each at another place of a long buffer, and waits
 * for all; the seconds of a sample are the slowest rank's, repeats divided out (MODELS.md, rule 4).
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "levels.h"
#include "measure.h"

enum { REPEATS = 10, DATA_TAG = 1 };
enum { ONE_WAY, BOTH_WAYS };

#define BYTES_MAX 4194304u

static struct level_group groups[LEVEL_COUNT];

/* The pairs of N processes: the halves of one socket, or the sides of the group one against the other. For free. */
static struct pair *make_pairs(const struct level_group *group, size_t n, size_t *n_pairs)
{
    bool one_side = group->n[1] == 0;
    *n_pairs = one_side && n > 1 ? n / 2 : n;
    struct pair *pairs = calloc(*n_pairs, sizeof *pairs);
    for (size_t i = 0; pairs != NULL && i < *n_pairs; i++)
        pairs[i] = (struct pair){group->ranks[0][i], one_side ? group->ranks[0][i + *n_pairs] : group->ranks[1][i]};
    return pairs;
}

/* The next N after n: doubled, and the largest that the group has at the end. */
static size_t next_n(size_t n, size_t last)
{
    return n == last ? last + 1 : 2 * n > last ? last : 2 * n;
}

static size_t last_n(const struct level_group *group)
{
    if (group->n[1] == 0)
        return group->n[0] / 2 * 2;
    return group->n[0] < group->n[1] ? group->n[0] : group->n[1];
}

static int list(const struct measure *measure, struct item **items, size_t *n_items)
{
    size_t capacity = 0;
    for (int level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        struct level_group *group = &groups[level];
        if (level_group_find(&measure->placement, (enum machine_level)level, group) != 0)
            return -1;
        size_t last = last_n(group);
        for (size_t n = 1; n <= last; n = next_n(n, last)) {
            size_t n_pairs;
            struct pair *pairs = make_pairs(group, n, &n_pairs);
            if (pairs == NULL)
                return -1;
            for (uint64_t bytes = 1; bytes <= BYTES_MAX; bytes *= 2) {
                if (*n_items == capacity) {
                    capacity = capacity == 0 ? 256 : 2 * capacity;
                    struct item *larger = reallocarray(*items, capacity, sizeof *larger);
                    if (larger == NULL)
                        return -1;
                    *items = larger;
                }
                uint64_t fit = measure->buffer_bytes / (bytes < 64 ? 64 : bytes);
                (*items)[(*n_items)++] = (struct item){
                    .level = (enum machine_level)level,
                    .mode = n > 1 ? BOTH_WAYS : ONE_WAY,
                    .variant = "",
                    .n = n,
                    .count = 1,
                    .bytes = bytes,
                    .repeats = fit < REPEATS ? (int)fit : REPEATS,
                    .n_pairs = n_pairs,
                    .pairs = pairs,
                    .ranks = group->name,
                };
            }
        }
    }
    return 0;
}

static double exchange(struct measure *measure, const struct task *task)
{
    MPI_Request requests[2 * REPEATS];
    MPI_Status statuses[2 * REPEATS];
    size_t place, stride = measure_places(measure, task->bytes, task->repeats, &place);
    char *sent = measure->send_buffer + place, *received = measure->recv_buffer + place;
    int bytes = (int)task->bytes, n = 0;
    bool sends = task->is_first || task->mode == BOTH_WAYS, receives = !task->is_first || task->mode == BOTH_WAYS;
    double begin_s = clock_now_s();
    for (int i = 0; i < task->repeats; i++, sent += stride, received += stride) {
        if (task->is_first && sends)
            MPI_Isend(sent, bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &requests[n++]);
        if (receives)
            MPI_Irecv(received, bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &requests[n++]);
        if (!task->is_first && sends)
            MPI_Isend(sent, bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &requests[n++]);
    }
    MPI_Waitall(n, requests, statuses);
    return (clock_now_s() - begin_s) / task->repeats;
}

int main(int argc, char **argv)
{
    static const struct benchmark_program program = {
        .name = "algorithm1",
        .summary = "Bi-directional multi-pair benchmark: the bandwidth that N processes of a socket or node share.",
        .list = list,
        .exchange = exchange,
    };
    return measure_main(argc, argv, &program);
}
