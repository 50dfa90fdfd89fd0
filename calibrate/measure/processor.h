/* Tells what ranks had of the processors, and what others had of them meanwhile. */
#ifndef MPISTAIR_CALIBRATE_PROCESSOR_H
#define MPISTAIR_CALIBRATE_PROCESSOR_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds for one thread, since it began, the time that it ran, and that it was ready to run while another had its
 * processor. */
struct processor_time {
    double run_s;
    double wait_s;
};

/* Reads the time of the calling thread, which must be the first of its process: there the kernel tells the wait
 * (/proc/self/schedstat). Where it does not, a wait is the time between two calls that the thread did not run, if it
 * was switched involuntarily. */
struct processor_time processor_now(void);

/* Holds what one rank did during a series of samples, in its samples only. */
struct processor_use {
    uint64_t machine; /* sharing_machine() */
    cpu_set_t cpus;   /* processors on which it may run */
    struct processor_time time;
};

/* Sums the processor time that n ranks wanted, *wanted_s, and what others had of it, *lost_s. Ranks of a machine with
 * fewer processors than ranks wait for each other by nature and do not count. */
void processor_lost(const struct processor_use *ranks, size_t n, double *wanted_s, double *lost_s);

/* Reads, for the processors on which this process may run, the time since boot that the hypervisor took, and all time
 * (/proc/stat). Returns false where it is not known. */
bool processor_stolen(double *stolen_s, double *all_s);

#endif
