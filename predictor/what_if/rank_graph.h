/* Tells who exchanges how much with whom over a run: a graph for the partitioner Scotch. */
#ifndef MPISTAIR_PREDICTOR_RANK_GRAPH_H
#define MPISTAIR_PREDICTOR_RANK_GRAPH_H

#include "predictor/what_if/workload.h"

/* Holds the neighbours of every rank, in both directions; weight: the bytes between the two, scaled, 1 at least. */
struct rank_graph {
    size_t *first; /* [n_ranks + 1] into neighbour */
    uint32_t *neighbour;
    int32_t *weight;
};

/* Builds the graph in O(M log M) for the M messages of all kinds. Returns 0, or -1 without memory. */
int rank_graph_init(struct rank_graph *graph, const struct workload *workload);
void rank_graph_release(struct rank_graph *graph);

#endif
