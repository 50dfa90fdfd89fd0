/* Messages of a rank to itself: a copy inside the process, or what the MPI makes of it. From 1 B to 4 MiB, one message
 * at a time, every one from and to another place of the long buffers, on up to four ranks spread over the job.
 *
 * The send is not blocking: a blocking one to oneself need not return before its receive is posted, and from the
 * rendezvous size on MPICH's does not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "measure.h"

enum { RANKS_MAX = 4, REPEATS_MAX = 16, DATA_TAG = 1 };

#define BYTES_MAX     4194304u
#define BYTES_A_VISIT 524288u /* a repetition more where it costs little time */

static struct pair pairs[RANKS_MAX];
static char names[RANKS_MAX][16];

static int list(const struct measure *measure, struct item **items, size_t *n_items)
{
    int n_ranks = measure->size < RANKS_MAX ? measure->size : RANKS_MAX;
    size_t n_sizes = 0;
    for (uint64_t bytes = 1; bytes <= BYTES_MAX; bytes *= 2)
        n_sizes++;
    *items = calloc((size_t)n_ranks * n_sizes, sizeof **items);
    if (*items == NULL)
        return -1;
    for (int i = 0; i < n_ranks; i++) {
        int rank = (int)((int64_t)i * measure->size / n_ranks);
        pairs[i] = (struct pair){rank, rank};
        snprintf(names[i], sizeof names[i], "%d", rank);
        for (uint64_t bytes = 1; bytes <= BYTES_MAX; bytes *= 2) {
            uint64_t repeats = BYTES_A_VISIT / bytes;
            (*items)[(*n_items)++] = (struct item){
                .level = LEVEL_SELF,
                .variant = "",
                .n = 1,
                .count = 1,
                .bytes = bytes,
                .repeats = repeats > REPEATS_MAX ? REPEATS_MAX
                           : repeats < 1         ? 1
                                                 : (int)repeats,
                .n_pairs = 1,
                .pairs = &pairs[i],
                .ranks = names[i],
            };
        }
    }
    return 0;
}

static double exchange(struct measure *measure, const struct task *task)
{
    size_t place, stride = measure_places(measure, task->bytes, task->repeats, &place);
    char *sent = measure->send_buffer + place, *received = measure->recv_buffer + place;
    int bytes = (int)task->bytes;
    double begin_s = clock_now_s();
    for (int i = 0; i < task->repeats; i++, sent += stride, received += stride) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Isend(sent, bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &requests[0]);
        MPI_Irecv(received, bytes, MPI_BYTE, task->partner, DATA_TAG, measure->comm, &requests[1]);
        MPI_Waitall(2, requests, statuses);
    }
    return (clock_now_s() - begin_s) / task->repeats;
}

int main(int argc, char **argv)
{
    static const struct benchmark_program program = {
        .name = "self",
        .summary = "Messages of a rank to itself: latency and bandwidth.",
        .list = list,
        .exchange = exchange,
    };
    return measure_main(argc, argv, &program);
}
