/* Looks up which algorithm Open MPI's coll/tuned takes. */
#ifndef MPISTAIR_PREDICTOR_RUN_SCRIPT_RULES_H
#define MPISTAIR_PREDICTOR_RUN_SCRIPT_RULES_H

#include <stdint.h>

enum script_rules {
    RULES_ALLREDUCE,
    RULES_ALLTOALL,
    RULES_ALLTOALLV,
    RULES_BARRIER,
    RULES_BCAST,
    RULES_REDUCE,
    RULES_REDUCE_SCATTER,
    RULES_REDUCE_SCATTER_BLOCK,
    RULES_ALLGATHER,
    RULES_ALLGATHERV,
    RULES_GATHER,
    RULES_SCATTER,
};

/* Returns the number of the algorithm for n ranks. bytes is what coll/tuned judges by: what a rank hands to each other
 * one (alltoall, gather, scatter, allgather: the mean where sizes differ), the whole vector (bcast and reductions), a
 * block of it (reduce_scatter_block). */
uint8_t script_rule(enum script_rules rules, uint32_t n, double bytes);

#endif
