/* Makes the scripts of Open MPI: coll/tuned, and coll/basic for what that leaves out (ompi/mca/coll/base, .../basic,
 * versions 4.1.4 and 5.0.9). tuned takes no segments where no rule file is given, so that chain and pipeline are one
 * chain, and the segmented ring is the ring. Where several nodes have members, version 5 takes coll/han instead; that
 * is not modelled. */
#include "predictor/run/collectives/run_script_parts.h"
#include "predictor/run/collectives/run_script_rules.h"

/* Adds a phase of a tree. */
static struct script_phase *add_tree(const struct script_part *part, enum script_algorithm algorithm,
                                     enum script_tree tree, uint32_t root, bool together, double bytes)
{
    struct script_phase *phase = part_add(part, algorithm, root, bytes);
    phase->tree = (uint8_t)tree;
    phase->together = together;
    return phase;
}

static void add_bcast(const struct script_part *all, uint32_t root, double bytes)
{
    static const uint8_t trees[] = {[1] = TREE_FLAT,   [2] = TREE_CHAIN,         [3] = TREE_CHAIN,  [4] = TREE_BINARY,
                                    [5] = TREE_BINARY, [6] = TREE_BINOMIAL_HIGH, [7] = TREE_KNOMIAL};
    uint8_t algorithm = script_rule(RULES_BCAST, all->n, bytes);
    if (algorithm < 8)
        add_tree(all, SCRIPT_DOWN, trees[algorithm], root, true, bytes);
    else
        part_add_scatter_allgather(all, root, algorithm == 8 && part_is_power_of_two(all), bytes);
}

static void add_reduce(const struct script_part *all, uint32_t root, double bytes)
{
    static const uint8_t trees[] = {[1] = TREE_FLAT,   [2] = TREE_CHAIN,         [3] = TREE_CHAIN,
                                    [4] = TREE_BINARY, [5] = TREE_BINOMIAL_HIGH, [6] = TREE_BINARY};
    uint8_t algorithm = script_rule(RULES_REDUCE, all->n, bytes);
    if (algorithm < 7)
        add_tree(all, SCRIPT_UP, trees[algorithm], root, algorithm != 1, bytes);
    else
        part_add_halved_reduce(all, root, bytes);
}

static void tuned_barrier(const struct script_choice *choice, const struct script_parts *parts)
{
    const struct script_part *all = &parts->all;
    uint8_t algorithm = script_rule(RULES_BARRIER, choice->n, 0);
    if (algorithm == 3) {
        part_add_doubled_allreduce(all, 0);
    } else if (algorithm == 4) {
        part_add(all, SCRIPT_DISSEMINATE, 0, 0);
    } else { /* 1 is linear */
        enum script_tree tree = algorithm == 1 ? TREE_FLAT : TREE_BINOMIAL;
        add_tree(all, SCRIPT_UP, tree, 0, algorithm == 1, 0);
        add_tree(all, SCRIPT_DOWN, tree, 0, algorithm == 1, 0);
    }
}

static void tuned_bcast(const struct script_choice *choice, const struct script_parts *parts)
{
    add_bcast(&parts->all, choice->root, choice->bytes);
}

static void tuned_reduce(const struct script_choice *choice, const struct script_parts *parts)
{
    add_reduce(&parts->all, choice->root, choice->bytes);
}

static void tuned_allreduce(const struct script_choice *choice, const struct script_parts *parts)
{
    const struct script_part *all = &parts->all;
    double bytes = choice->bytes;
    switch (script_rule(RULES_ALLREDUCE, choice->n, bytes)) {
    case 2:
        add_reduce(all, 0, bytes);
        add_bcast(all, 0, bytes);
        break;
    case 3:
        part_add_doubled_allreduce(all, bytes);
        break;
    case 4:
    case 5:
        part_add(all, SCRIPT_RING_COMBINE, 0, bytes);
        part_add(all, SCRIPT_RING, 0, bytes);
        break;
    default:
        part_add_halved_allreduce(all, bytes);
    }
}

static void add_gather(const struct script_choice *choice, const struct script_part *all, bool scatter, uint32_t root)
{
    double block = choice->bytes / choice->n;
    uint8_t algorithm = choice->varies ? 1 : script_rule(scatter ? RULES_SCATTER : RULES_GATHER, choice->n, block);
    enum script_tree tree = algorithm == 2 ? TREE_BINOMIAL : TREE_FLAT;
    add_tree(all, scatter ? SCRIPT_BLOCKS_DOWN : SCRIPT_BLOCKS_UP, tree, root, algorithm == 3, choice->bytes)->sizes =
        choice->sizes;
}

static void tuned_gather(const struct script_choice *choice, const struct script_parts *parts)
{
    add_gather(choice, &parts->all, choice->kind == COLLECTIVE_SCATTER, choice->root);
}

static void tuned_allgather(const struct script_choice *choice, const struct script_parts *parts)
{
    const struct script_part *all = &parts->all;
    double bytes = choice->bytes;
    uint8_t algorithm = script_rule(choice->varies ? RULES_ALLGATHERV : RULES_ALLGATHER, choice->n, bytes / choice->n);
    /* allgatherv numbers them otherwise, without recursive doubling */
    static const uint8_t numbers[] = {0, 1, 2, 4, 5, 6};
    if (choice->varies)
        algorithm = numbers[algorithm];
    if (algorithm == 1) {
        add_tree(all, SCRIPT_BLOCKS_UP, TREE_FLAT, 0, false, bytes)->sizes = choice->sizes;
        add_bcast(all, 0, bytes);
        return;
    }
    enum script_algorithm script = algorithm == 3 && part_is_power_of_two(all)                ? SCRIPT_DOUBLE
                                   : algorithm == 4 || (algorithm == 5 && choice->n % 2 != 0) ? SCRIPT_RING
                                   : algorithm == 5                                           ? SCRIPT_NEIGHBOURS
                                                                                              : SCRIPT_BRUCK;
    part_add(all, script, 0, bytes)->sizes = choice->sizes;
}

static void tuned_alltoall(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    uint8_t algorithm = script_rule(choice->varies ? RULES_ALLTOALLV : RULES_ALLTOALL, choice->n, bytes / choice->n);
    static const uint8_t algorithms[] = {[1] = SCRIPT_AT_ONCE,
                                         [2] = SCRIPT_PAIRWISE,
                                         [3] = SCRIPT_BRUCK_ALLTOALL,
                                         [4] = SCRIPT_AT_ONCE,
                                         [5] = SCRIPT_PAIRWISE};
    part_add(&parts->all, (enum script_algorithm)algorithms[algorithm], 0, bytes)->sizes = choice->sizes;
}

static void tuned_reduce_scatter(const struct script_choice *choice, const struct script_parts *parts)
{
    double bytes = choice->bytes;
    uint8_t algorithm = choice->varies ? script_rule(RULES_REDUCE_SCATTER, choice->n, bytes)
                                       : script_rule(RULES_REDUCE_SCATTER_BLOCK, choice->n, bytes / choice->n);
    if (algorithm == 1) {
        add_reduce(&parts->all, 0, bytes);
        add_gather(choice, &parts->all, true, 0);
    } else if (algorithm == 3 && choice->varies) {
        part_add(&parts->all, SCRIPT_RING_COMBINE, 0, bytes);
    } else {
        part_add_halved_reduce_scatter(&parts->all, bytes);
    }
}

static void tuned_scan(const struct script_choice *choice, const struct script_parts *parts)
{
    part_add(&parts->all, SCRIPT_SCAN_CHAIN, 0, choice->bytes);
}

script_chooser *const script_tuned[COLLECTIVE_KIND_COUNT] = {
    [COLLECTIVE_BARRIER] = tuned_barrier,
    [COLLECTIVE_BCAST] = tuned_bcast,
    [COLLECTIVE_REDUCE] = tuned_reduce,
    [COLLECTIVE_ALLREDUCE] = tuned_allreduce,
    [COLLECTIVE_GATHER] = tuned_gather,
    [COLLECTIVE_SCATTER] = tuned_gather,
    [COLLECTIVE_ALLGATHER] = tuned_allgather,
    [COLLECTIVE_ALLTOALL] = tuned_alltoall,
    [COLLECTIVE_REDUCE_SCATTER] = tuned_reduce_scatter,
    [COLLECTIVE_SCAN] = tuned_scan,
};
