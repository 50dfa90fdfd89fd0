/* Sums the messages of a run by pairs while its program is read (predictor/run_read), so that no finding goes through
 * all messages once more: by call site and pair of ranks, and by size and pair of nodes. */
#ifndef MPISTAIR_REPORT_PAIR_SUMS_H
#define MPISTAIR_REPORT_PAIR_SUMS_H

#include <sqlite3.h>

#include "predictor/run_read/run_read.h"
#include "share/base/map.h"

/* Bytes below which a message is small. */
enum { PAIR_SMALL_BYTES = 1024 };

/* The messages that one call site sends from a rank to another one, summed. Times are in ns; sums are whole numbers. */
struct rank_pair {
    uint32_t site, src, dst;
    uint64_t n, small;
    double bytes;
    uint64_t joined; /* of them, those that need no answer to the one before; set by small_messages.c */
    double call_ns;  /* of both calls, less what one waited for the other to begin; a call that sends and receives
                        * counts for what it posted first */
    uint64_t receiver_late;                  /* of them, whose receive was posted behind the send */
    double receiver_late_ns, sender_late_ns; /* by how much the one or the other was late */
    double between_ns; /* of those between nodes: from the later post to the completion of the receive */
};

/* The times of the messages from a node to another one whose sizes have the same power of two. */
struct node_pair_times {
    uint32_t class; /* of the size */
    int64_t from, to;
    int64_t *times_ns; /* [n] from the later post to the completion of the receive */
    size_t n;
};

struct pair_sums {
    int64_t *node; /* [n_ranks] -1: not known */
    size_t n_ranks, n_nodes;
    struct map ranks, nodes;      /* numbers in the arrays below */
    struct rank_pair *rank_pairs; /* [n_rank_pairs] */
    size_t n_rank_pairs;
    struct node_pair_times *node_pairs; /* [n_node_pairs]; none of fewer than three nodes, which cannot be compared */
    size_t n_node_pairs;
};

/* Reads the nodes of the ranks. Returns 0, or -1 with the reason; pair_sums_release in either case. */
int pair_sums_init(struct pair_sums *sums, sqlite3 *database, const char *path, struct error *error);
/* Returns what run_program_read takes to fill the sums. */
struct run_message_watch pair_sums_watch(struct pair_sums *sums);
void pair_sums_release(struct pair_sums *sums);

#endif
