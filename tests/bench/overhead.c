/* Measures what recording adds to a call: Irecv, Isend, Wait, Wait of a process to itself through MPI_X (recorded) and
 * through the MPI's own functions (which nobody sees), in turns in one run, beside the cost of two timestamps. The
 * least disturbed turn of each counts; the middle one is printed beside it, and the processor time that the recorder's
 * thread takes elsewhere. The ratio is that of the budget: at most twice two timestamps a call. More than 1 GB is
 * recorded, so chunks are opened and left all the time. It goes to a folder of its own, MPISTAIR_SPOOL, and is removed
 * in the end. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "interpose/spool/clock.h"
#include "tests/apps/mpi_itself.h"

#define TURNS 41
#define CALLS 140000

static char in[8], out[8];

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Holds the calls, by what the program finds or by the MPI itself. */
struct names {
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Isend) isend;
    __typeof__(&MPI_Wait) wait;
};

static double calls_ns(const struct names *mpi)
{
    double begin_ns = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < CALLS; i++) {
        MPI_Request receive, send;
        mpi->irecv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &receive);
        mpi->isend(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &send);
        mpi->wait(&receive, MPI_STATUS_IGNORE);
        mpi->wait(&send, MPI_STATUS_IGNORE);
    }
    return (now_ns(CLOCK_MONOTONIC) - begin_ns) / CALLS;
}

static double timestamp_ns(enum spool_clock_source source)
{
    volatile uint64_t sink = 0;
    double begin_ns = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < CALLS * 4; i++)
        sink += clock_ticks(source);
    (void)sink;
    return (now_ns(CLOCK_MONOTONIC) - begin_ns) / (CALLS * 4);
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Sorts turns, the least first. */
static void sort_turns(double *values)
{
    qsort(values, TURNS, sizeof *values, compare);
}

/* Returns the processor time of the process's other threads since *begin_ns; begins anew. */
static double elsewhere_ns(double *begin_ns)
{
    double now = now_ns(CLOCK_PROCESS_CPUTIME_ID) - now_ns(CLOCK_THREAD_CPUTIME_ID), passed = now - *begin_ns;
    *begin_ns = now;
    return passed;
}

/* Removes what was recorded; returns its bytes. */
static double remove_spools(void)
{
    const char *path = getenv("MPISTAIR_SPOOL");
    DIR *folder = path ? opendir(path) : NULL;
    double bytes = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode)) {
            bytes += (double)status.st_size;
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder)
        closedir(folder);
    return bytes;
}

int main(int argc, char **argv)
{
    double recorded[TURNS], bare[TURNS], timestamp[TURNS];
    const struct names recorded_names = {MPI_Irecv, MPI_Isend, MPI_Wait};
    const struct names bare_names = {(__typeof__(&MPI_Irecv))mpi_itself("PMPI_Irecv"),
                                     (__typeof__(&MPI_Isend))mpi_itself("PMPI_Isend"),
                                     (__typeof__(&MPI_Wait))mpi_itself("PMPI_Wait")};
    enum spool_clock_source source = spool_clock_detect();
    MPI_Init(&argc, &argv);
    calls_ns(&recorded_names);
    calls_ns(&bare_names);
    double others_ns = 0, thread_ns = 0;
    elsewhere_ns(&others_ns);
    for (int turn = 0; turn < TURNS; turn++) {
        recorded[turn] = calls_ns(&recorded_names);
        thread_ns += elsewhere_ns(&others_ns);
        bare[turn] = calls_ns(&bare_names);
        timestamp[turn] = timestamp_ns(source);
        elsewhere_ns(&others_ns);
    }
    sort_turns(recorded);
    sort_turns(bare);
    sort_turns(timestamp);
    double added_ns = (recorded[0] - bare[0]) / 4, two_ns = 2 * timestamp[0];
    double middle_ns = (recorded[TURNS / 2] - bare[TURNS / 2]) / 4;
    thread_ns /= 4.0 * CALLS * TURNS;
    MPI_Finalize();
    double bytes = remove_spools(), rounds = (double)CALLS * (TURNS + 1);
    printf(
        "overhead: bare %.1f ns, recorded %.1f ns for Irecv+Isend+Wait+Wait; added %.1f ns a call (median of %d turns "
        "%.1f), on another processor %.1f ns; two timestamps %.1f ns; ratio %.2f; spool %.2f GB, %.1f bytes a round of "
        "two operations and two completion calls\n",
        bare[0], recorded[0], added_ns, TURNS, middle_ns, thread_ns, two_ns, added_ns / two_ns, bytes / 1e9,
        bytes / rounds);
    return 0;
}
