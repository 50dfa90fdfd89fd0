/* Reads what the kernel counts of this process, while it runs, into its spool (counters.h).
 *
 * A thread of our own does that ten times a second, less often in a long run, so that no call of the program takes an
 * instruction more. Where one sample takes more than half a percent of the time between two, that time doubles. The
 * thread has a table of descriptors of its own: the program sees none of its files, and cannot close them. It is opened
 * empty by close_range (Linux 5.9); without that call, and where no thread can be started, only what getrusage tells is
 * known, at the beginning and the end. */
#ifndef MPISTAIR_SPOOL_COUNTER_THREAD_H
#define MPISTAIR_SPOOL_COUNTER_THREAD_H

#include <pthread.h>
#include <sys/types.h>

#include "interpose/spool/counters.h"

struct counter_thread {
    struct spool_counters *counters; /* NULL: not begun */
    pthread_mutex_t lock;            /* guards stop */
    pthread_cond_t stopping;
    pthread_t thread;
    pid_t main;                          /* the thread that began */
    struct spool_network *network;       /* of the node's first process; NULL: of another one */
    const char *root;                    /* of /sys and /proc/thread-self/net; "" but in tests, MPISTAIR_TEST_ROOT */
    void (*read_openmp)(uint64_t *sums); /* fills in three, from COUNTER_OPENMP_REGION_NS on */
    int running, stop;
};

/* Takes the first sample, and starts the thread unless without_thread. */
void counter_thread_begin(struct counter_thread *counter, struct spool_header *header,
                          void (*read_openmp)(uint64_t *sums), int without_thread);

/* Takes the last sample, and ends the thread. */
void counter_thread_end(struct counter_thread *counter);

#endif
