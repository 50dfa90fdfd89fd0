/* Processor time of ranks, what others had of their processors meanwhile, and whether ranks that are measured shared a
 * processor although there was one for each of them.
 *
 * Ranks that are not bound wake up where the kernel puts them, two of them on one processor quite often, and it takes
 * some milliseconds until it moves one away. A ping-pong of such two takes three times as long: medians then depend on
 * how many samples were of that kind. Jobs see it in their first milliseconds only, so these samples are dropped. */
#ifndef MPISTAIR_CALIBRATE_PROCESSOR_H
#define MPISTAIR_CALIBRATE_PROCESSOR_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times of one thread since it began: that it ran, and that it was ready to run while another had its processor. */
struct processor_time {
    double run_s;
    double wait_s;
};

/* Reads the time of the calling thread, which must be the first of its process: there the kernel reports the wait
 * (/proc/self/schedstat). Where it does not, a wait is the time between two calls that the thread did not run, if it
 * was switched involuntarily. */
struct processor_time processor_now(void);

/* What one rank did during a series of samples, in its samples only. */
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

/* One rank during one sample. */
struct sharing {
    uint64_t machine; /* sharing_machine() */
    int n_processors; /* how many it may run on */
    int begin;        /* processor at the begin of the sample */
    int end;
};

/* Returns a number of the machine on which this process runs: hosts that are namespaces or containers of one machine
 * share its processors whatever they are called. */
uint64_t sharing_machine(void);

/* Returns whether two of them shared a processor. Ranks of machines with more ranks than one of them has processors
 * have to share: that does not count. */
bool sharing_found(const struct sharing *ranks, size_t n);

#endif
