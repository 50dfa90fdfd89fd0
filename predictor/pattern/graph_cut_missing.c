/* Takes the place of graph_cut.c where mpistair was built without Scotch. */
#include "predictor/pattern/graph_cut.h"

bool graph_cut_is_built(void)
{
    return false;
}

int graph_cut(const struct graph *graph, size_t n_parts, const SCOTCH_Num *capacity, SCOTCH_Num seed, SCOTCH_Num *part)
{
    (void)graph, (void)n_parts, (void)capacity, (void)seed, (void)part;
    return -1;
}
