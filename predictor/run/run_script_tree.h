/* Names the neighbours in the trees of collectives, whose members are numbered from the root on. */
#ifndef MPISTAIR_PREDICTOR_RUN_SCRIPT_TREE_H
#define MPISTAIR_PREDICTOR_RUN_SCRIPT_TREE_H

#include <stdint.h>

enum script_tree {
    TREE_FLAT,
    TREE_CHAIN,
    TREE_BINARY,
    TREE_BINOMIAL,      /* children differ in a bit below the lowest one that is set: MPICH */
    TREE_BINOMIAL_HIGH, /* above the highest: Open MPI */
    TREE_KNOMIAL,       /* as binomial, of radix 4 */
};

/* tree: enum script_tree; n: members. Children are in the order in which they are served by a broadcast. */
uint32_t script_tree_children(int tree, uint32_t n, uint32_t v);
/* Returns child i, UINT32_MAX if there are fewer. */
uint32_t script_tree_child(int tree, uint32_t n, uint32_t v, uint32_t i);
uint32_t script_tree_parent(int tree, uint32_t v);
/* Returns how many members the subtree of v has: v and those behind it. Only of TREE_FLAT and TREE_BINOMIAL. */
uint32_t script_tree_below(int tree, uint32_t n, uint32_t v);

#endif
