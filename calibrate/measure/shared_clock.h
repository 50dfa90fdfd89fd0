/* Gives all ranks a clock that they share, to start a measurement together: barriers end apart by as much as what is
 * measured.
 *
 * On one host it is CLOCK_MONOTONIC itself. The first rank of every other host finds its offset to rank 0's clock by
 * round trips: the shortest one bounds the error by half its length. */
#ifndef MPISTAIR_CALIBRATE_CLOCK_H
#define MPISTAIR_CALIBRATE_CLOCK_H

#include <mpi.h>

#include "share/base/monotonic.h"

/* Messages of 8 bytes each way between rank 0 and the first rank of every other host in clock_offset_s(). */
#define CLOCK_ROUND_TRIPS 64

/* Returns what to add to this host's clock to get rank 0's. Collective. host[size] numbers the hosts by first
 * appearance. */
double clock_offset_s(MPI_Comm comm, const int *host);

/* Sleeps, then yields, until clock_now_s() reaches at_s. Returns how late it already was when called, 0 if in time. */
double clock_wait_until(double at_s);

/* Sleeps that long: a rank does so between two looks at its messages while others are measured. */
void clock_sleep_s(double seconds);

#endif
