/* abrupt: a job that ends in one of many ways, with known traffic until then.
 *
 *     abrupt WAY STEPS FILE
 *
 * All ranks do STEPS ring exchanges, write what they sent to FILE (`-`: nowhere), and rank 0 prints a line. A barrier
 * later they end without MPI_Finalize:
 *     early     the last rank calls MPI_Abort(MPI_COMM_WORLD, 3) as soon as MPI_Init returned; no file then
 *     midway    the last rank kills itself with SIGKILL in one step more, its receive and its send posted; no file then
 *     kill      the last rank kills itself with SIGKILL, the others wait until the launcher ends them
 *     segv      the same with a store to address 0
 *     exit      exit(0) in all ranks
 *     _exit     _exit(0) in all ranks
 *     abort     MPI_Abort(MPI_COMM_WORLD, 3) by rank 0, the others wait
 * or with it:
 *     finish    nothing else happens
 *     fail      they return 5 from main
 *     callback  a delete callback of MPI_COMM_SELF does one ring exchange more, in MPI_Finalize; FILE has it
 *     fork      before the steps each rank forks a child that calls nothing and ends by _exit
 *     forkexit  ... that ends by exit, through the handlers of its parent
 *     forkexec  ... that becomes another program
 *     forkkill  ... that lives until the steps are done, then SIGKILL ends it
 */
#include "tests/apps/app.h"
#include "tests/apps/witness.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_way(const char *way, const char *name)
{
    return strcmp(way, name) == 0;
}

static void exchange(int64_t bytes, int midway)
{
    static char out[256], in[256];
    int size = app_size();
    MPI_Request requests[2];
    MPI_Irecv(in, sizeof(in), MPI_CHAR, (app_rank() + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, (int)bytes, MPI_CHAR, (app_rank() + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
    if (midway && app_rank() == size - 1)
        raise(SIGKILL);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int late_exchange(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    exchange(100, 0);
    return MPI_SUCCESS;
}

static void set_callback(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, late_exchange, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
}

/* Forks the child of the ways that fork; returns 0 for other ways. */
static pid_t fork_child(const char *way)
{
    if (strncmp(way, "fork", 4) != 0)
        return 0;
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    if (is_way(way, "forkexit"))
        exit(0);
    if (is_way(way, "forkexec"))
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
    while (is_way(way, "forkkill"))
        pause();
    _exit(is_way(way, "forkexec"));
}

static void wait_for_child(const char *way, pid_t child)
{
    int status;
    if (child == 0)
        return;
    if (is_way(way, "forkkill"))
        kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child ||
        (WIFEXITED(status) ? WEXITSTATUS(status) != 0 : !is_way(way, "forkkill")))
        app_fail("the child ended otherwise than it should");
}

static void end(const char *way)
{
    static int *volatile nowhere;
    int is_last = app_rank() == app_size() - 1;
    if (is_way(way, "exit"))
        exit(0);
    if (is_way(way, "_exit"))
        _exit(0);
    if (is_way(way, "kill") && is_last)
        raise(SIGKILL);
    if (is_way(way, "segv") && is_last)
        *nowhere = 1;
    if (is_way(way, "abort") && app_rank() == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    while (is_way(way, "kill") || is_way(way, "segv") || is_way(way, "abort"))
        pause();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 4)
        app_fail("usage: abrupt WAY STEPS FILE");
    const char *way = argv[1];
    if (is_way(way, "early") && app_rank() == app_size() - 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    int64_t steps = app_integer("steps", argv[2], 0, INT32_MAX);
    int next = (app_rank() + 1) % app_size();
    pid_t child = fork_child(way);
    struct traffic traffic;
    witness_init(&traffic);
    for (int64_t step = 0; step < steps; step++) {
        exchange(step % 256, 0);
        traffic_sent(&traffic, next, (uint64_t)step % 256);
    }
    wait_for_child(way, child);
    if (is_way(way, "midway"))
        exchange(0, 1);
    if (is_way(way, "callback")) {
        set_callback();
        traffic_sent(&traffic, next, 100);
    }
    traffic_write(&traffic, strcmp(argv[3], "-") == 0 ? NULL : argv[3]);
    witness_release(&traffic);
    if (app_rank() == 0) {
        printf("abrupt: %d ranks, %lld steps\n", app_size(), (long long)steps);
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    end(way);
    MPI_Finalize();
    return is_way(way, "fail") ? 5 : 0;
}
