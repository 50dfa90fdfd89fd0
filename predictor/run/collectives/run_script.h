/* Holds the algorithms of collectives as scripts: what each member sends to whom, round by round.
 *
 * A *script* is a few *phases*, which each member goes through one after the other: a reduce-scatter, then an
 * allgather. A phase is done in rounds. In a round a member begins all sends and receives, then waits for all of them.
 * Nobody waits for the rounds of others but through messages. What is sent is counted in *blocks* of what the phase
 * moves: one for each of its members, or for each of those that halve a vector. Everything is a pure function of
 * script, member and round, so that a collective takes no memory for its messages.
 *
 * R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19(1),
 * 2005, doi:10.1177/1094342005051521, describe most of them; J. Bruck et al., IEEE TPDS 8(11), 1997,
 * doi:10.1109/71.642949, theirs. */
#ifndef MPISTAIR_PREDICTOR_RUN_SCRIPT_H
#define MPISTAIR_PREDICTOR_RUN_SCRIPT_H

#include "predictor/run/run_program.h"

/* The trees of collectives, whose members are numbered from the root on. */
enum script_tree {
    TREE_FLAT,
    TREE_CHAIN,
    TREE_BINARY,
    TREE_BINOMIAL,      /* children differ in a bit below the lowest one that is set: MPICH */
    TREE_BINOMIAL_HIGH, /* above the highest: Open MPI */
    TREE_KNOMIAL,       /* as binomial, of radix 4 */
};

enum script_algorithm {
    SCRIPT_DOWN,             /* a tree hands everything down from the root */
    SCRIPT_UP,               /* the other way; what comes is combined */
    SCRIPT_BLOCKS_DOWN,      /* each gets the blocks of its subtree */
    SCRIPT_BLOCKS_UP,        /* each hands them up */
    SCRIPT_FOLD,             /* as many drop out, after they sent everything to a neighbour, as leave a power of two */
    SCRIPT_UNFOLD,           /* those get everything back */
    SCRIPT_UNFOLD_BLOCK,     /* those get their own block back */
    SCRIPT_EXCHANGE,         /* recursive doubling: everything, combined, with the next power of two */
    SCRIPT_HALVE,            /* recursive halving: what the partner keeps, combined */
    SCRIPT_DOUBLE,           /* its reverse: an allgather by recursive doubling */
    SCRIPT_GATHER_HALVES,    /* the same for the target alone */
    SCRIPT_RING,             /* allgather: a block to the next, round after round */
    SCRIPT_RING_COMBINE,     /* reduce-scatter on a ring */
    SCRIPT_PAIRWISE_COMBINE, /* reduce-scatter: its block to each in turn */
    SCRIPT_BRUCK,            /* allgather: all there is to the one 2^k before */
    SCRIPT_NEIGHBOURS,       /* allgather: two blocks with the left, the right neighbour in turn; an even number */
    SCRIPT_BRUCK_ALLTOALL,   /* to the one 2^k behind all that has this bit in its distance */
    SCRIPT_PAIRWISE,         /* alltoall: to the one k behind, from the one k before */
    SCRIPT_AT_ONCE,          /* alltoall: everything at once, in lots */
    SCRIPT_DISSEMINATE,      /* barrier: to the one 2^k behind, from the one 2^k before */
    SCRIPT_SCAN,             /* recursive doubling with whoever there is */
    SCRIPT_SCAN_CHAIN,       /* from the one before, to the one behind */
    SCRIPT_SEND,             /* everything from the root to the target */
};

/* Says who takes part in a phase. */
enum script_group { GROUP_ALL, GROUP_NODE, GROUP_LEADERS };

struct script_phase {
    uint8_t algorithm; /* enum script_algorithm */
    uint8_t tree;      /* of the first four */
    uint8_t group;
    bool together;   /* all children in one round, instead of one after the other */
    bool near_first; /* SCRIPT_HALVE and its reverse: the first partner is the neighbour, not the farthest */
    bool own_blocks; /* the same: a block for each member, not for each that is left */
    bool by_bits;    /* SCRIPT_PAIRWISE: with the one whose number differs by the bits of k */
    uint32_t lot;    /* SCRIPT_AT_ONCE: partners in one round */
    uint32_t root;   /* members and blocks count from there: number in the group */
    uint32_t target; /* who must not drop out, gathers, receives: number in the group; UINT32_MAX: nobody */
    uint32_t only_node, except_node; /* of GROUP_NODE; UINT32_MAX: all, none */
    double bytes;                    /* of all blocks */
    const struct run_member *sizes;  /* the blocks' sizes differ: those of these; alltoall: what each hands in; NULL */
};

/* Divides the members by nodes. */
struct script_nodes {
    uint32_t n_nodes;
    uint32_t *node_of; /* [members] 0 .. n_nodes - 1 by their first members */
    uint32_t *place;   /* [members] number of the member in its node */
    uint32_t *first;   /* [n_nodes + 1] where a node begins in by_node */
    uint32_t *by_node; /* [members] the first one of each node is its leader */
};

/* Divides n members, whose ranks are on nodes node_of[rank] below n_nodes. Returns it, for free(). */
struct script_nodes *script_nodes_new(const struct run_member *members, uint32_t n, const uint32_t *node_of,
                                      size_t n_nodes);

enum { SCRIPT_MOST_PHASES = 12 };

struct run_script {
    uint32_t n_members, n_phases;
    struct script_phase phases[SCRIPT_MOST_PHASES];
    const struct script_nodes *nodes; /* NULL: all phases are of all members */
};

struct script_cursor {
    uint32_t phase, round, index;
};

/* Describes one send or receive. */
struct script_action {
    uint32_t peer; /* number of the other member in the collective */
    bool sends;
    bool combines;     /* the receiver combines it with what it has; else it takes it */
    uint32_t first, n; /* blocks first .. first + n - 1, modulo their number; alltoall: how many */
    uint64_t bytes;
};

enum script_next { NEXT_ACTION, NEXT_ROUND, NEXT_END };

/* Finds what the member does at the cursor: fills *action and moves the cursor behind it (NEXT_ACTION); or a round is
 * over, what was begun in it must be waited for, and the cursor is at the next one (NEXT_ROUND); or the script is. */
enum script_next script_next(const struct run_script *script, uint32_t member, struct script_cursor *cursor,
                             struct script_action *action);
/* Returns how many blocks a phase has where the member takes part. */
uint32_t script_blocks(const struct run_script *script, const struct script_phase *phase, uint32_t member);

/* Describes a collective to choose an algorithm for. */
struct script_choice {
    enum run_mpi_family family;
    enum run_collective_kind kind;
    bool varies;   /* a size for each member */
    uint32_t root; /* number of the member */
    uint32_t n;    /* members */
    double bytes;  /* of all blocks of a gather, scatter, allgather, reduce-scatter; that a member has otherwise */
    const struct run_member *sizes;   /* of a collective that varies */
    const struct script_nodes *nodes; /* where several nodes have members, one of them several; NULL */
};
/* Says whether there is a script: not of what stays as recorded, nor without the root that the kind needs. */
static inline bool script_exists(enum run_collective_kind kind, uint32_t root, uint32_t n)
{
    bool rooted = kind == COLLECTIVE_BCAST || kind == COLLECTIVE_REDUCE || kind == COLLECTIVE_GATHER ||
                  kind == COLLECTIVE_SCATTER;
    return kind != COLLECTIVE_OTHER && (!rooted || root < n);
}
/* Makes the script that the MPI would take; there is one. */
void script_choose(const struct script_choice *choice, struct run_script *script);

/* Adds a phase, of which the caller sets what else it needs. */
struct script_phase *script_add(struct run_script *script, enum script_algorithm algorithm, double bytes);

#endif
