/* Tells whether ranks that are measured shared a processor although there was one for each of them.
 *
 * Ranks that are not bound wake up where the kernel puts them, two of them on one processor quite often, and it takes
 * some milliseconds until it moves one away. A ping-pong of such two takes three times as long: medians then tell how
 * many samples were of that kind. Jobs see it in their first milliseconds only, so these samples are dropped. */
#ifndef MPISTAIR_CALIBRATE_SHARING_H
#define MPISTAIR_CALIBRATE_SHARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Describes one rank during one sample. */
struct sharing {
    uint64_t machine; /* sharing_machine() */
    int n_processors; /* how many it may run on */
    int begin;        /* processor at the begin of the sample */
    int end;
};

/* Returns a number of the machine on which this process runs: hosts that are namespaces or containers of one machine
 * share its processors whatever they are called. */
uint64_t sharing_machine(void);

/* Says whether two of them shared a processor. Ranks of machines with more ranks than one of them has processors have
 * to share: that does not count. */
bool sharing_found(const struct sharing *ranks, size_t n);

#endif
