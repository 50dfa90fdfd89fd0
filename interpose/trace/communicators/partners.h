/* Pairs partners, of which only the possible pairs are known. */
#ifndef MPISTAIR_TRACE_PARTNERS_H
#define MPISTAIR_TRACE_PARTNERS_H

#include <stddef.h>
#include <stdint.h>

#define PARTNERS_NONE UINT32_MAX

/* Joins two nodes that may be partners. */
struct partners_edge {
    uint32_t a;
    uint32_t b;
};

/* Pairs n_nodes nodes, each of which has at most one partner. side[n_nodes] is 1 or -1 where partners are of different
 * sides, 0 where any two may be partners. Sets partner[n_nodes], PARTNERS_NONE where it is not certain, and
 * candidates[n_nodes], how many edges a node has. */
void partners_find(const struct partners_edge *edges, size_t n_edges, size_t n_nodes, const int8_t *side,
                   uint32_t *partner, uint32_t *candidates);

#endif
