/* Adds phases to a script: those of which MPICH and Open MPI both put their algorithms together. */
#ifndef MPISTAIR_PREDICTOR_RUN_SCRIPT_PARTS_H
#define MPISTAIR_PREDICTOR_RUN_SCRIPT_PARTS_H

#include "predictor/run/collectives/run_script.h"

/* Describes those who do a part of a collective. */
struct script_part {
    struct run_script *script;
    enum script_group group;
    uint32_t n; /* of nodes: the largest one */
    bool same;  /* nodes: all have so many */
    uint32_t only_node, except_node;
};

/* Holds the ways to divide a collective: all together, within nodes, between the nodes' leaders. */
struct script_parts {
    struct script_part all, node, leaders;
};

/* Makes the script of a kind of collective. */
typedef void script_chooser(const struct script_choice *choice, const struct script_parts *parts);
/* run_script_tuned.c: those of Open MPI; NULL: stays as recorded. */
extern script_chooser *const script_tuned[COLLECTIVE_KIND_COUNT];

bool part_is_power_of_two(const struct script_part *part);

/* Adds a phase of the part; its tree is TREE_BINOMIAL. */
struct script_phase *part_add(const struct script_part *part, enum script_algorithm algorithm, uint32_t root,
                              double bytes);
/* Scatters what the root has, then gathers it everywhere: by recursive doubling, or on a ring. */
void part_add_scatter_allgather(const struct script_part *part, uint32_t root, bool doubles, double bytes);
/* Reduces the vector to blocks, and leaves them with those that have not dropped out. */
void part_add_halving(const struct script_part *part, uint32_t target, bool own_blocks, double bytes);
/* Reduces by halving. */
void part_add_halved_reduce(const struct script_part *part, uint32_t root, double bytes);
void part_add_halved_allreduce(const struct script_part *part, double bytes);
void part_add_halved_reduce_scatter(const struct script_part *part, double bytes);
/* Reduces by recursive doubling. */
void part_add_doubled_allreduce(const struct script_part *part, double bytes);

#endif
