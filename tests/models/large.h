/* Makes large patterns for benchmarks: as many ranks as wanted, on nodes of two sockets of 64 cores, with the mean
 * number of messages a rank, the largest one and the shares of the levels of T Table IV's last column (8,192 processes:
 * 2,744,632 messages, at most 1,235 of one process, 9,382 MB; 74.8 % of the bytes within a socket, 8.0 % within a node,
 * 17.2 % between nodes). Papers are named as in share/doc/MODELS.md. */
#ifndef MPISTAIR_TESTS_LARGE_H
#define MPISTAIR_TESTS_LARGE_H

#include "tests/models/cases.h"

enum { LARGE_RANKS = 8192, LARGE_MESSAGES = 2744632 };

/* Makes pattern and placement of the case; LARGE_MESSAGES for LARGE_RANKS, else in proportion. Messages come in the
 * order of their senders, as programs write them, or shuffled. Ends the test where it fails. */
void large_pattern(struct model_case *c, size_t n_ranks, bool shuffled);

#endif
