/* Makes the scripts of Open MPI: coll/tuned, and coll/basic for what that leaves out (ompi/mca/coll/base, .../basic,
 * versions 4.1.4 and 5.0.9). tuned takes no segments where no rule file is given, so that chain and pipeline are one
 * chain, and the segmented ring is the ring. Where several nodes have members, version 5 takes coll/han instead; that
 * is not modelled. */
#include "predictor/run/collectives/run_script.h"
#include "predictor/run/collectives/run_script_rules.h"

#define NONE UINT32_MAX

/* Adds a phase of a tree. */
static struct script_phase *add_tree(struct run_script *script, enum script_algorithm algorithm, enum script_tree tree,
                                     uint32_t root, bool together, double bytes)
{
    struct script_phase *phase = script_add(script, algorithm, bytes);
    phase->tree = (uint8_t)tree;
    phase->root = root;
    phase->together = together;
    return phase;
}

static struct script_phase *add_rooted(struct run_script *script, enum script_algorithm algorithm, uint32_t root,
                                       double bytes)
{
    struct script_phase *phase = script_add(script, algorithm, bytes);
    phase->root = root;
    return phase;
}

static bool tuned_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static void tuned_add_bcast(struct run_script *script, const struct script_choice *choice, uint32_t root, double bytes)
{
    static const uint8_t trees[] = {[1] = TREE_FLAT,   [2] = TREE_CHAIN,         [3] = TREE_CHAIN,  [4] = TREE_BINARY,
                                    [5] = TREE_BINARY, [6] = TREE_BINOMIAL_HIGH, [7] = TREE_KNOMIAL};
    uint8_t algorithm = script_rule(RULES_BCAST, choice->n, bytes);
    if (algorithm < 8) {
        add_tree(script, SCRIPT_DOWN, trees[algorithm], root, true, bytes);
        return;
    }
    add_tree(script, SCRIPT_BLOCKS_DOWN, TREE_BINOMIAL, root, false, bytes);
    add_rooted(script, algorithm == 8 && tuned_power_of_two(choice->n) ? SCRIPT_DOUBLE : SCRIPT_RING, root, bytes);
}

/* Reduces the vector to blocks and leaves them with those that have not dropped out. */
static void tuned_add_halving(struct run_script *script, uint32_t target, bool own_blocks, double bytes)
{
    script_add(script, SCRIPT_FOLD, bytes)->target = target;
    struct script_phase *phase = script_add(script, SCRIPT_HALVE, bytes);
    phase->target = target;
    phase->own_blocks = own_blocks;
    phase->near_first = !own_blocks;
}

static void tuned_add_reduce(struct run_script *script, const struct script_choice *choice, uint32_t root, double bytes)
{
    static const uint8_t trees[] = {[1] = TREE_FLAT,   [2] = TREE_CHAIN,         [3] = TREE_CHAIN,
                                    [4] = TREE_BINARY, [5] = TREE_BINOMIAL_HIGH, [6] = TREE_BINARY};
    uint8_t algorithm = script_rule(RULES_REDUCE, choice->n, bytes);
    if (algorithm < 7) {
        add_tree(script, SCRIPT_UP, trees[algorithm], root, algorithm != 1, bytes);
        return;
    }
    tuned_add_halving(script, root, false, bytes);
    struct script_phase *phase = script_add(script, SCRIPT_GATHER_HALVES, bytes);
    phase->target = root;
    phase->near_first = true;
}

static void add_doubling(struct run_script *script, double bytes)
{
    script_add(script, SCRIPT_FOLD, bytes);
    script_add(script, SCRIPT_EXCHANGE, bytes);
    script_add(script, SCRIPT_UNFOLD, bytes);
}

static void tuned_add_allreduce(struct run_script *script, const struct script_choice *choice)
{
    double bytes = choice->bytes;
    switch (script_rule(RULES_ALLREDUCE, choice->n, bytes)) {
    case 2:
        tuned_add_reduce(script, choice, 0, bytes);
        tuned_add_bcast(script, choice, 0, bytes);
        break;
    case 3:
        add_doubling(script, bytes);
        break;
    case 4:
    case 5:
        script_add(script, SCRIPT_RING_COMBINE, bytes);
        script_add(script, SCRIPT_RING, bytes);
        break;
    default:
        tuned_add_halving(script, NONE, false, bytes);
        script_add(script, SCRIPT_DOUBLE, bytes)->near_first = true;
        script_add(script, SCRIPT_UNFOLD, bytes);
    }
}

static void add_barrier(struct run_script *script, uint32_t n)
{
    switch (script_rule(RULES_BARRIER, n, 0)) {
    case 1:
        add_tree(script, SCRIPT_UP, TREE_FLAT, 0, true, 0);
        add_tree(script, SCRIPT_DOWN, TREE_FLAT, 0, true, 0);
        break;
    case 3:
        add_doubling(script, 0);
        break;
    case 4:
        script_add(script, SCRIPT_DISSEMINATE, 0);
        break;
    default:
        add_tree(script, SCRIPT_UP, TREE_BINOMIAL, 0, false, 0);
        add_tree(script, SCRIPT_DOWN, TREE_BINOMIAL, 0, false, 0);
    }
}

static void add_gather(struct run_script *script, const struct script_choice *choice, bool scatter)
{
    double block = choice->bytes / choice->n;
    uint8_t algorithm = choice->varies ? 1 : script_rule(scatter ? RULES_SCATTER : RULES_GATHER, choice->n, block);
    enum script_tree tree = algorithm == 2 ? TREE_BINOMIAL : TREE_FLAT;
    add_tree(script, scatter ? SCRIPT_BLOCKS_DOWN : SCRIPT_BLOCKS_UP, tree, choice->root, algorithm == 3, choice->bytes)
        ->sizes = choice->sizes;
}

static void add_allgather(struct run_script *script, const struct script_choice *choice)
{
    double bytes = choice->bytes;
    uint8_t algorithm = script_rule(choice->varies ? RULES_ALLGATHERV : RULES_ALLGATHER, choice->n, bytes / choice->n);
    /* allgatherv numbers them otherwise, without recursive doubling */
    static const uint8_t numbers[] = {0, 1, 2, 4, 5, 6};
    if (choice->varies)
        algorithm = numbers[algorithm];
    struct script_phase *phase;
    switch (algorithm) {
    case 1:
        add_tree(script, SCRIPT_BLOCKS_UP, TREE_FLAT, 0, false, bytes)->sizes = choice->sizes;
        tuned_add_bcast(script, choice, 0, bytes);
        return;
    case 3:
        phase = script_add(script, tuned_power_of_two(choice->n) ? SCRIPT_DOUBLE : SCRIPT_BRUCK, bytes);
        break;
    case 4:
        phase = script_add(script, SCRIPT_RING, bytes);
        break;
    case 5:
        phase = script_add(script, choice->n % 2 == 0 ? SCRIPT_NEIGHBOURS : SCRIPT_RING, bytes);
        break;
    default:
        phase = script_add(script, SCRIPT_BRUCK, bytes);
    }
    phase->sizes = choice->sizes;
}

static void add_alltoall(struct run_script *script, const struct script_choice *choice)
{
    double bytes = choice->bytes;
    uint8_t algorithm = script_rule(choice->varies ? RULES_ALLTOALLV : RULES_ALLTOALL, choice->n, bytes / choice->n);
    static const uint8_t algorithms[] = {[1] = SCRIPT_AT_ONCE,
                                         [2] = SCRIPT_PAIRWISE,
                                         [3] = SCRIPT_BRUCK_ALLTOALL,
                                         [4] = SCRIPT_AT_ONCE,
                                         [5] = SCRIPT_PAIRWISE};
    script_add(script, (enum script_algorithm)algorithms[algorithm], bytes)->sizes = choice->sizes;
}

static void add_reduce_scatter(struct run_script *script, const struct script_choice *choice)
{
    double bytes = choice->bytes;
    uint8_t algorithm = choice->varies ? script_rule(RULES_REDUCE_SCATTER, choice->n, bytes)
                                       : script_rule(RULES_REDUCE_SCATTER_BLOCK, choice->n, bytes / choice->n);
    if (algorithm == 1) {
        tuned_add_reduce(script, choice, 0, bytes);
        struct script_choice scatter = *choice;
        scatter.root = 0;
        add_gather(script, &scatter, true);
    } else if (algorithm == 3 && choice->varies) {
        script_add(script, SCRIPT_RING_COMBINE, bytes);
    } else {
        tuned_add_halving(script, NONE, true, bytes);
        script_add(script, SCRIPT_UNFOLD_BLOCK, bytes);
    }
}

bool script_choose_tuned(const struct script_choice *choice, struct run_script *script)
{
    switch (choice->kind) {
    case COLLECTIVE_BARRIER:
        add_barrier(script, choice->n);
        return true;
    case COLLECTIVE_BCAST:
        tuned_add_bcast(script, choice, choice->root, choice->bytes);
        return true;
    case COLLECTIVE_REDUCE:
        tuned_add_reduce(script, choice, choice->root, choice->bytes);
        return true;
    case COLLECTIVE_ALLREDUCE:
        tuned_add_allreduce(script, choice);
        return true;
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
        add_gather(script, choice, choice->kind == COLLECTIVE_SCATTER);
        return true;
    case COLLECTIVE_ALLGATHER:
        add_allgather(script, choice);
        return true;
    case COLLECTIVE_ALLTOALL:
        add_alltoall(script, choice);
        return true;
    case COLLECTIVE_REDUCE_SCATTER:
        add_reduce_scatter(script, choice);
        return true;
    case COLLECTIVE_SCAN:
        script_add(script, SCRIPT_SCAN_CHAIN, choice->bytes);
        return true;
    default:
        return false;
    }
}
