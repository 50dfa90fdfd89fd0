/* Counts how many entries an MPI passes while it searches its queues of posted receives and of unexpected messages,
 * replayed from the order in which receives were posted and messages arrived. */
#ifndef MPISTAIR_PREDICTOR_QUEUE_SEARCH_H
#define MPISTAIR_PREDICTOR_QUEUE_SEARCH_H

#include "predictor/pattern/traffic.h"

/* Says which lists make up one queue of a rank. */
enum queue_lists {
    QUEUE_ONE_LIST,  /* one for all: MPICH, CrayMPI */
    QUEUE_BY_SOURCE, /* one for each communicator and source, beside one of receives from any source: Open MPI's ob1 */
};

struct queue_search {
    uint64_t passed[MACHINE_QUEUE_COUNT];  /* entries, those that matched too */
    uint64_t longest[MACHINE_QUEUE_COUNT]; /* entries of the longest search, had it matched nothing */
};

/* Sets all of searches[n_ranks]. O(M log M); takes some 90 bytes a message for the rank that receives most, 4 for all
 * others. */
void queue_search(const struct traffic *traffic, enum queue_lists lists, struct queue_search *searches);

#endif
