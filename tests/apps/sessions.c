/* sessions sends messages between processes that use MPI sessions, alone or beside MPI_Init.
 *
 *     sessions only|before|mixed|after|exit
 *
 *     only    MPI_Session_init and MPI_Session_finalize, no MPI_Init; two sessions that overlap
 *     before  MPI_Session_init, then MPI_Init; the session ends before MPI_Finalize
 *     mixed   odd ranks as `before`, even ranks the other way round
 *     after   MPI_Init, a session that goes on after MPI_Finalize
 *     exit    as `only`, but the processes end without MPI_Session_finalize, once all have called exit: what a launcher
 *             does when it sees one of them end comes later
 * All ranks send once around their ring on a communicator of the session (tag 1) and, where they called MPI_Init, on
 * MPI_COMM_WORLD (tag 2). With `after` and `only` they send once more on the session's late in their life (tag 3).
 * They print a line `message SRC DST TAG BYTES` for each. With an MPI without sessions it exits with 77. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef MPI_SESSION_NULL

static MPI_Comm open_session(MPI_Session *session, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int rank, size;

/* Runs after the handlers of those that were registered later: waits until the other ranks are here, too. */
static void wait_for_others(void)
{
    char path[64];
    alarm(60);
    snprintf(path, sizeof path, "exiting-%d", rank);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    if (fd >= 0)
        close(fd);
    for (int other = 0; other < size; other++) {
        snprintf(path, sizeof path, "exiting-%d", other);
        while (access(path, F_OK) != 0)
            usleep(1000);
    }
}

static void ring(MPI_Comm comm, int tag)
{
    char out[64] = {0}, in[64];
    int bytes;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    bytes = tag * 10 + rank;
    int next = (rank + 1) % size;
    MPI_Sendrecv(out, bytes, MPI_CHAR, next, tag, in, sizeof in, MPI_CHAR, (rank + size - 1) % size, tag, comm,
                 MPI_STATUS_IGNORE);
    printf("message %d %d %d %d\n", rank, next, tag, bytes);
}

int main(int argc, char **argv)
{
    const char *way = argc == 2 ? argv[1] : "";
    const char *place = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    int inits = strcmp(way, "only") != 0 && strcmp(way, "exit") != 0;
    int init_first = strcmp(way, "after") == 0 || (strcmp(way, "mixed") == 0 && place && atoi(place) % 2 == 0);
    MPI_Session first, second;
    MPI_Comm comm, late;
    if (strcmp(way, "exit") == 0)
        atexit(wait_for_others);
    if (init_first)
        MPI_Init(&argc, &argv);
    if (strcmp(way, "mixed") == 0 && !init_first) {
        /* The other ranks make no communicator yet. */
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
        MPI_Init(&argc, &argv);
        MPI_Session_finalize(&second);
    }
    comm = open_session(&first, "first");
    if (inits && !init_first && strcmp(way, "mixed") != 0)
        MPI_Init(&argc, &argv);
    ring(comm, 1);
    if (inits)
        ring(MPI_COMM_WORLD, 2);
    fflush(stdout);
    if (strcmp(way, "exit") == 0)
        exit(0);
    if (!inits) {
        late = open_session(&second, "second");
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&first);
        ring(late, 3);
        MPI_Comm_free(&late);
        MPI_Session_finalize(&second);
        return 0;
    }
    if (strcmp(way, "after") == 0) {
        MPI_Finalize();
        ring(comm, 3);
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&first);
    if (strcmp(way, "after") != 0)
        MPI_Finalize();
    return 0;
}

#else

int main(void)
{
    puts("this MPI has no sessions");
    return 77;
}

#endif
