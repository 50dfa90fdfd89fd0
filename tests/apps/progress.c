/* progress exchanges in a ring for two minutes at most, and publishes how far it is where a SIGKILL leaves it.
 *
 *     progress FOLDER WAY
 *
 * Each rank maps FOLDER/RANK, an array of 64-bit integers: [0] steps that are done, [1] its process id, [2 + step %
 * RING] CLOCK_MONOTONIC in ns after that step. A step is an Irecv, an Isend and a Waitall, all in MPI_COMM_WORLD. WAY
 * is
 *     plain   SIGTERM ends the process, as it does by default
 *     stays   SIGTERM is caught and changes nothing, as where a program writes a checkpoint and is not done in time
 *     exits   SIGTERM is caught; the step in hand is finished, then exit(7), without MPI_Finalize
 */
#include "tests/apps/app.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RING 65536

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static int64_t *map_progress(const char *folder)
{
    char path[4096];
    const size_t bytes = (2 + RING) * sizeof(int64_t);
    snprintf(path, sizeof path, "%s/%d", folder, app_rank());
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        app_fail("%s cannot be written", path);
    int64_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        app_fail("%s cannot be mapped", path);
    return map;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    static char out[64], in[64];
    alarm(120); /* ends it, whatever becomes of who started it */
    MPI_Init(&argc, &argv);
    if (argc != 3)
        app_fail("usage: progress FOLDER plain|stays|exits");
    if (strcmp(argv[2], "plain") != 0) {
        const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigaction(SIGTERM, &action, NULL);
    }
    int64_t *progress = map_progress(argv[1]);
    int size = app_size();
    __atomic_store_n(&progress[1], getpid(), __ATOMIC_RELEASE);
    for (int64_t step = 0;; step++) {
        MPI_Request requests[2];
        MPI_Irecv(in, (int)(step % 64), MPI_CHAR, (app_rank() + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, (int)(step % 64), MPI_CHAR, (app_rank() + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        progress[2 + step % RING] = now_ns();
        __atomic_store_n(&progress[0], step + 1, __ATOMIC_RELEASE);
        if (caught && strcmp(argv[2], "exits") == 0)
            exit(7);
    }
}
