/* queue_search executes B Algorithm 1, HighVolumePingPong, with many messages in the order of their receives or against
 * it, as in B Figs. 4 and 5: ranks 0 and 1 send each other n messages of TOTAL/n bytes, for n = 1, 10, ... up to
 * --most.
 *
 *     queue_search [--order in|reversed] [--total BYTES] [--most N] [--repetitions R] [--traffic FILE]
 *
 * Reversed, the tags of the receives are those of the sends backwards. Rank 1 tells by an empty message that its
 * receives are posted: so the first half searches posted receives only. In the second half, as printed, rank 0 posts
 * its receives when its sends are over, and finds what is there by then unexpected. It prints CSV on stdout: header
 * `n,bytes,first_s,second_s`, the medians over the repetitions. They last from rank 1's word that its receives are
 * posted, and from rank 0's first receive, to the end of the receiver's MPI_Waitall. Papers are named as in
 * share/doc/MODELS.md. */
#include "tests/apps/app.h"
#include "tests/apps/witness.h"

#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 10000, READY_TAG = MOST + 1 };

struct options {
    bool reversed;
    int total_bytes, most, repetitions;
    const char *traffic;
};

static void parse(int argc, char **argv, struct options *options)
{
    static const struct option long_options[] = {
        {"order", required_argument, NULL, 'o'},   {"total", required_argument, NULL, 't'},
        {"most", required_argument, NULL, 'm'},    {"repetitions", required_argument, NULL, 'r'},
        {"traffic", required_argument, NULL, 'f'}, {NULL, 0, NULL, 0},
    };
    *options = (struct options){.total_bytes = 100000, .most = MOST, .repetitions = 10};
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == 'o' && (strcmp(optarg, "in") == 0 || strcmp(optarg, "reversed") == 0))
            options->reversed = optarg[0] == 'r';
        else if (option == 't')
            options->total_bytes = (int)app_integer("total", optarg, 0, 1 << 30);
        else if (option == 'm')
            options->most = (int)app_integer("most", optarg, 1, MOST);
        else if (option == 'r')
            options->repetitions = (int)app_integer("repetitions", optarg, 1, 1000);
        else if (option == 'f')
            options->traffic = optarg;
        else
            app_fail("usage: queue_search [--order in|reversed] [--total BYTES] [--most N] [--repetitions R] "
                     "[--traffic FILE]");
    }
}

struct volume {
    const struct options *options;
    struct traffic *traffic;
    int n, bytes;
    char *buffer;
    MPI_Request *requests;
    MPI_Status *statuses;
};

static void send_all(struct volume *volume, int peer)
{
    for (int i = 0; i < volume->n; i++) {
        MPI_Isend(volume->buffer + (size_t)i * (size_t)volume->bytes, volume->bytes, MPI_CHAR, peer, i, MPI_COMM_WORLD,
                  &volume->requests[i]);
        traffic_sent(volume->traffic, peer, (uint64_t)volume->bytes);
    }
    MPI_Waitall(volume->n, volume->requests, volume->statuses);
}

static void post_all(struct volume *volume, int peer)
{
    for (int i = 0; i < volume->n; i++) {
        int tag = volume->options->reversed ? volume->n - 1 - i : i;
        MPI_Irecv(volume->buffer + (size_t)tag * (size_t)volume->bytes, volume->bytes, MPI_CHAR, peer, tag,
                  MPI_COMM_WORLD, &volume->requests[i]);
    }
}

/* Returns the seconds of this rank's receiving half. */
static double ping_pong(struct volume *volume)
{
    double begin_s;
    MPI_Barrier(MPI_COMM_WORLD);
    if (app_rank() == 0) {
        MPI_Recv(NULL, 0, MPI_CHAR, 1, READY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_all(volume, 1);
        begin_s = MPI_Wtime();
        post_all(volume, 1);
        MPI_Waitall(volume->n, volume->requests, volume->statuses);
        return MPI_Wtime() - begin_s;
    }
    post_all(volume, 0);
    begin_s = MPI_Wtime();
    MPI_Send(NULL, 0, MPI_CHAR, 0, READY_TAG, MPI_COMM_WORLD);
    traffic_sent(volume->traffic, 0, 0);
    MPI_Waitall(volume->n, volume->requests, volume->statuses);
    double seconds = MPI_Wtime() - begin_s;
    send_all(volume, 0);
    return seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct volume *volume)
{
    int repetitions = volume->options->repetitions;
    double *seconds = app_allocate((size_t)repetitions, sizeof(*seconds));
    for (int i = 0; i < repetitions; i++)
        seconds[i] = ping_pong(volume);
    qsort(seconds, (size_t)repetitions, sizeof(*seconds), compare);
    double median_s[2], own_s = (seconds[(repetitions - 1) / 2] + seconds[repetitions / 2]) / 2;
    MPI_Gather(&own_s, 1, MPI_DOUBLE, median_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (app_rank() == 0)
        printf("%d,%d,%.9f,%.9f\n", volume->n, volume->bytes, median_s[1], median_s[0]);
    free(seconds);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct options options;
    struct traffic traffic;
    parse(argc, argv, &options);
    if (app_size() != 2)
        app_fail("%d ranks; expected 2", app_size());
    witness_init(&traffic);
    struct volume volume = {.options = &options, .traffic = &traffic};
    volume.buffer = app_allocate((size_t)options.total_bytes, 1);
    volume.requests = app_allocate((size_t)options.most, sizeof(MPI_Request));
    volume.statuses = app_allocate((size_t)options.most, sizeof(MPI_Status));
    if (app_rank() == 0)
        puts("n,bytes,first_s,second_s");
    for (volume.n = 1; volume.n <= options.most; volume.n *= 10) {
        volume.bytes = options.total_bytes / volume.n;
        measure(&volume);
    }
    traffic_write(&traffic, options.traffic);
    free(volume.buffer);
    free(volume.requests);
    free(volume.statuses);
    witness_release(&traffic);
    MPI_Finalize();
    return 0;
}
