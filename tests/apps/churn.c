/* churn does what a recorder gets wrong easily, many times, with known traffic.
 *
 * Every round goes over a set of communicators (dups, splits with other orders of ranks, subgroups, a Cartesian one,
 * COMM_SELF) and sends bursts of small messages, of which most share their request handle with another live one. Bursts
 * are completed in each way that MPI has (completing.c), received with and without wildcards, with null requests,
 * messages to oneself, empty messages and MPI_PROC_NULL among them, and datatypes freed before completion. Then come
 * the blocking calls. Communicators are freed and made again in each round. */
#include "tests/apps/app.h"
#include "tests/apps/completing.h"
#include "tests/apps/witness.h"

#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define FAN       4
#define COPIES    6
#define MAX_BYTES 64
#define MAX_OPS   (2 * FAN * COPIES + 4)

/* Holds one communicator with what the program needs to count on it. Receives on it are all of one kind, as those with
 * wildcards would take messages that other receives wait for. */
struct place {
    MPI_Comm comm;
    int rank;
    int size;
    int *world; /* [size] ranks in MPI_COMM_WORLD */
    bool any_source;
    bool any_tag;
};

/* Takes over comm, which may be MPI_COMM_NULL. */
static void place_make(MPI_Comm comm, bool any_source, bool any_tag, struct place *place)
{
    *place = (struct place){.comm = comm, .any_source = any_source, .any_tag = any_tag};
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &place->rank);
    MPI_Comm_size(comm, &place->size);
    int *ranks = app_allocate((size_t)place->size, sizeof(*ranks));
    place->world = app_allocate((size_t)place->size, sizeof(*place->world));
    for (int i = 0; i < place->size; i++)
        ranks[i] = i;
    MPI_Group group, world;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, place->size, ranks, world, place->world);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    free(ranks);
}

static void place_release(struct place *place)
{
    if (place->comm != MPI_COMM_NULL)
        MPI_Comm_free(&place->comm);
    free(place->world);
}

/* Sends FAN * COPIES messages to the next ranks, itself the first, by Isend and Issend, and receives as many. */
static void burst(const struct place *place, int round, struct traffic *traffic)
{
    static char out[FAN * COPIES][MAX_BYTES];
    static char in[FAN * COPIES][MAX_BYTES];
    MPI_Request requests[MAX_OPS];
    int n = 0;
    requests[n++] = MPI_REQUEST_NULL;
    MPI_Isend(out, 3, MPI_CHAR, MPI_PROC_NULL, 1, place->comm, &requests[n++]);
    bool receive_first = round % 2 == 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < FAN * COPIES; i++) {
            int shift = i % FAN;
            int tag = i / FAN;
            int bytes = tag * 7 % 4 * 16; /* gives 0, 48, 32, 16, 0, 48 */
            if ((pass == 0) == receive_first) {
                int source = (place->rank - shift % place->size + place->size) % place->size;
                MPI_Irecv(in[i], MAX_BYTES, MPI_CHAR, place->any_source ? MPI_ANY_SOURCE : source,
                          place->any_tag ? MPI_ANY_TAG : tag, place->comm, &requests[n++]);
                continue;
            }
            int to = (place->rank + shift) % place->size;
            if (tag == COPIES - 1)
                MPI_Issend(out[i], bytes, MPI_CHAR, to, tag, place->comm, &requests[n++]);
            else
                MPI_Isend(out[i], bytes, MPI_CHAR, to, tag, place->comm, &requests[n++]);
            traffic_sent(traffic, place->world[to], (uint64_t)bytes);
        }
    }
    MPI_Irecv(in, 3, MPI_CHAR, MPI_PROC_NULL, 1, place->comm, &requests[n++]);
    requests[n++] = MPI_REQUEST_NULL;
    completion_run(round % COMPLETION_WAYS, n, requests);
}

/* Sends a ring of strided doubles whose datatype is freed while they are on their way. */
static void strided_ring(const struct place *place, struct traffic *traffic)
{
    double out[30] = {0};
    double in[30];
    int next = (place->rank + 1) % place->size;
    int previous = (place->rank + place->size - 1) % place->size;
    MPI_Datatype column;
    MPI_Type_vector(10, 1, 3, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Request requests[2];
    MPI_Irecv(in, 1, column, previous, 50, place->comm, &requests[0]);
    MPI_Isend(out, 1, column, next, 50, place->comm, &requests[1]);
    MPI_Type_free(&column);
    traffic_sent(traffic, place->world[next], 80);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Makes blocking calls over MPI_COMM_WORLD: a ring, a line that ends in MPI_PROC_NULL, pairs, messages to oneself. */
static void blocking(MPI_Comm comm, struct traffic *traffic)
{
    int rank = app_rank();
    int size = app_size();
    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;
    char out[128] = {0};
    char in[128];
    MPI_Sendrecv(out, 100, MPI_CHAR, next, 60, in, 128, MPI_CHAR, previous, 60, comm, MPI_STATUS_IGNORE);
    traffic_sent(traffic, next, 100);
    MPI_Sendrecv_replace(out, 90, MPI_CHAR, next, 61, previous, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    traffic_sent(traffic, next, 90);
    MPI_Sendrecv(out, 5, MPI_CHAR, rank, 62, in, 5, MPI_CHAR, rank, 62, comm, MPI_STATUS_IGNORE);
    traffic_sent(traffic, rank, 5);

    int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    MPI_Recv(in, 128, MPI_CHAR, left, 63, comm, MPI_STATUS_IGNORE);
    MPI_Send(out, 70, MPI_CHAR, right, 63, comm);
    if (right != MPI_PROC_NULL)
        traffic_sent(traffic, right, 70);

    int partner = rank ^ 1;
    if (partner < size) {
        MPI_Status status;
        if (rank % 2 == 0)
            MPI_Ssend(out, 33, MPI_CHAR, partner, 64, comm);
        MPI_Recv(in, 128, MPI_CHAR, rank % 2 ? MPI_ANY_SOURCE : partner, 64, comm, &status);
        if (rank % 2 == 1)
            MPI_Ssend(out, 33, MPI_CHAR, partner, 64, comm);
        traffic_sent(traffic, partner, 33);
    }
}

static int make_places(struct place *places)
{
    int rank = app_rank();
    int size = app_size();
    int n = 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    place_make(comm, false, false, &places[n++]);
    MPI_Comm_dup(comm, &comm);
    place_make(comm, true, false, &places[n++]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    place_make(comm, true, true, &places[n++]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    place_make(comm, false, true, &places[n++]);
    MPI_Comm_split(MPI_COMM_WORLD, rank == size - 1 ? MPI_UNDEFINED : 0, size - rank, &comm);
    place_make(comm, true, true, &places[n++]);
    MPI_Comm_split_type(places[0].comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    place_make(comm, false, false, &places[n++]);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    place_make(comm, true, false, &places[n++]);

    MPI_Group world, half;
    int range[1][3] = {{size / 2, size - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &half);
    MPI_Comm_create(MPI_COMM_WORLD, half, &comm);
    place_make(comm, false, false, &places[n++]);
    MPI_Group_free(&world);
    MPI_Group_free(&half);

    int dims[1] = {size};
    int periods[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    place_make(comm, true, true, &places[n++]);
    return n;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"rounds", required_argument, NULL, 'r'}, {"traffic", required_argument, NULL, 'f'}, {NULL, 0, NULL, 0}};
    int64_t rounds = 20;
    const char *path = NULL;
    MPI_Init(&argc, &argv);
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == 'r')
            rounds = app_integer("rounds", optarg, 0, INT64_MAX);
        else if (option == 'f')
            path = optarg;
        else
            app_fail("usage: churn [--rounds N] [--traffic FILE]");
    }
    struct traffic traffic;
    witness_init(&traffic);
    for (int64_t round = 0; round < rounds; round++) {
        struct place places[16];
        int n = make_places(places);
        for (int i = 0; i < n; i++) {
            if (places[i].comm == MPI_COMM_NULL)
                continue;
            burst(&places[i], (int)(round + i) % COMPLETION_WAYS, &traffic);
            if (!places[i].any_source && !places[i].any_tag)
                strided_ring(&places[i], &traffic);
        }
        blocking(MPI_COMM_WORLD, &traffic);
        for (int i = 0; i < n; i++)
            place_release(&places[i]);
    }
    traffic_write(&traffic, path);
    witness_release(&traffic);
    MPI_Finalize();
    return 0;
}
