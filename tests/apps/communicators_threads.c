/* Threads create communicators at once, each on a parent of its own: duplicates, splits, groups and intercommunicators,
 * with messages on each. */
#include "tests/apps/communicator_kinds.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define ROUNDS  4

struct worker {
    MPI_Comm parent;
    int number, rank;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    char label[64];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm dup, half, inter;
        int odd = worker->rank % 2;
        MPI_Comm_dup(worker->parent, &dup);
        snprintf(label, sizeof label, "thread_%d_dup_%d", worker->number, round);
        exchange_on(dup, label, 1);
        MPI_Comm_split(dup, odd, 0, &half);
        MPI_Intercomm_create(half, 0, worker->parent, 1 - odd, worker->number, &inter);
        snprintf(label, sizeof label, "thread_%d_inter_%d", worker->number, round);
        exchange_and_free(&inter, label);
#ifdef OPEN_MPI /* MPICH 4.0.2 crashes where two threads are in MPI_Comm_create_group, with nobody looking */
        MPI_Comm group_comm;
        MPI_Group group;
        MPI_Comm_group(dup, &group);
        MPI_Comm_create_group(worker->parent, group, worker->number, &group_comm);
        MPI_Group_free(&group);
        snprintf(label, sizeof label, "thread_%d_group_%d", worker->number, round);
        exchange_and_free(&group_comm, label);
#endif
        MPI_Comm_free(&half);
        MPI_Comm_free(&dup);
    }
    return NULL;
}

void threads_create(int rank)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i, .rank = rank};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].parent);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&workers[i].parent);
    }
}
