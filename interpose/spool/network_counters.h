/* Reads what went through the network interfaces of this node, of all its programs: /proc/net/dev,
 * /sys/class/infiniband, and the retransmissions of TCP.
 *
 * An interface counts that has a device behind it, or where none has (a container), each but the loopback. Nothing here
 * allocates; files stay open in the table of descriptors of the thread that calls. */
#ifndef MPISTAIR_SPOOL_NETWORK_COUNTERS_H
#define MPISTAIR_SPOOL_NETWORK_COUNTERS_H

#include "interpose/spool/counters.h"

enum { NETWORK_FILES = 8, NETWORK_TEXT_BYTES = 16 << 10 };

struct network_file {
    int fd; /* -1: not there */
    uint32_t unit;
    enum spool_network_counter counter;
};

struct network_counters {
    struct spool_network *network; /* NULL: nothing is counted */
    int interfaces;                /* descriptor of /proc/net/dev; -1: not there */
    struct network_file files[SPOOL_INTERFACES][NETWORK_FILES];
    uint32_t n_files[SPOOL_INTERFACES];
    uint64_t next_ns; /* when the next sample is due */
};

/* Opens what there is below root ("" but in tests). */
void network_counters_open(struct network_counters *counters, struct spool_network *network, const char *root);

/* Takes a sample if one is due, or in any case. */
void network_counters_take(struct network_counters *counters, int in_any_case);

#endif
