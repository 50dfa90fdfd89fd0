/* Starts must agree within microseconds on hosts whose clocks differ by seconds, while idle ranks sleep: offsets are
 * measured once, and waits sleep first and spin last. */
#include "calibrate/measure/shared_clock.h"

#include <sched.h>
#include <time.h>

enum { OFFSET_TAG = 1 };

/* Time before its end at which a wait stops sleeping, s: a sleep may end later than asked, and the kernel moves a
 * process away from a busy processor only while it runs. */
#define WAKE_S 2e-3

void clock_sleep_s(double seconds)
{
    struct timespec rest = {.tv_sec = (time_t)seconds};
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    nanosleep(&rest, NULL);
}

double clock_wait_until(double at_s)
{
    double rest = at_s - clock_now_s();
    if (rest < 0)
        return -rest;
    if (rest > WAKE_S)
        clock_sleep_s(rest - WAKE_S);
    while (clock_now_s() < at_s)
        sched_yield();
    return 0;
}

static double offset_by_round_trips(MPI_Comm comm)
{
    double best_s = 1e9, offset_s = 0;
    for (int i = 0; i < CLOCK_ROUND_TRIPS; i++) {
        double there_s, before_s = clock_now_s();
        MPI_Send(&before_s, 1, MPI_DOUBLE, 0, OFFSET_TAG, comm);
        MPI_Recv(&there_s, 1, MPI_DOUBLE, 0, OFFSET_TAG, comm, MPI_STATUS_IGNORE);
        double after_s = clock_now_s();
        if (after_s - before_s < best_s) {
            best_s = after_s - before_s;
            offset_s = there_s - (before_s + after_s) / 2;
        }
    }
    return offset_s;
}

double clock_offset_s(MPI_Comm comm, const int *host)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm of_host;
    MPI_Comm_split(comm, host[rank], rank, &of_host);
    double offset_s = 0;
    int next_host = 1; /* hosts are numbered by first appearance */
    for (int leader = 1; leader < size; leader++) {
        if (host[leader] != next_host)
            continue;
        next_host++;
        if (rank == leader)
            offset_s = offset_by_round_trips(comm);
        for (int i = 0; rank == 0 && i < CLOCK_ROUND_TRIPS; i++) {
            double now_s;
            MPI_Recv(&now_s, 1, MPI_DOUBLE, leader, OFFSET_TAG, comm, MPI_STATUS_IGNORE);
            now_s = clock_now_s();
            MPI_Send(&now_s, 1, MPI_DOUBLE, leader, OFFSET_TAG, comm);
        }
    }
    MPI_Bcast(&offset_s, 1, MPI_DOUBLE, 0, of_host);
    MPI_Comm_free(&of_host);
    return offset_s;
}
