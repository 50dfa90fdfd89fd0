/* Cuts graphs by the partitioner Scotch (F. Pellegrini, J. Roman: SCOTCH: A Software Package for Static Mapping by Dual
 * Recursive Bipartitioning of Process and Architecture Graphs, HPCN 1996): meshes, and ranks that exchange bytes.
 *
 * Debian has Scotch with a release or more a year, and METIS 5.1.0 of 2013; so Scotch is used. */
#ifndef MPISTAIR_PREDICTOR_GRAPH_CUT_H
#define MPISTAIR_PREDICTOR_GRAPH_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h> /* scotch.h needs it */

/* Debian has the header in a folder of its own, Scotch itself and Spack do not. */
#if __has_include(<scotch/scotch.h>)
#include <scotch/scotch.h>
#elif __has_include(<scotch.h>)
#include <scotch.h>
#else
typedef int SCOTCH_Num;
#endif

/* An undirected graph, each edge of which stands at both of its ends. The arrays are the caller's. */
struct graph {
    SCOTCH_Num n;
    SCOTCH_Num *first;  /* [n + 1] into the next */
    SCOTCH_Num *to;     /* [first[n]] */
    SCOTCH_Num *weight; /* [first[n]] */
};

/* Returns whether mpistair was built with Scotch. */
bool graph_cut_is_built(void);
/* Cuts into part[n], 0 .. n_parts - 1, so that edges between parts weigh little: parts are alike, or, where capacity is
 * not NULL, as large as capacity[n_parts], to about one percent. The same seed gives the same parts. Returns 0, or -1:
 * Scotch failed (it says why on stderr). */
int graph_cut(const struct graph *graph, size_t n_parts, const SCOTCH_Num *capacity, SCOTCH_Num seed, SCOTCH_Num *part);

#endif
