/* Phases have the members and the nodes of their part. See run_script_parts.h. */
#include "predictor/run/collectives/run_script_parts.h"

#define NONE UINT32_MAX

bool part_is_power_of_two(const struct script_part *part)
{
    return part->same && (part->n & (part->n - 1)) == 0;
}

struct script_phase *part_add(const struct script_part *part, enum script_algorithm algorithm, uint32_t root,
                              double bytes)
{
    struct script_phase *phase = script_add(part->script, algorithm, bytes);
    phase->group = (uint8_t)part->group;
    phase->root = root;
    phase->only_node = part->only_node;
    phase->except_node = part->except_node;
    phase->tree = TREE_BINOMIAL;
    return phase;
}

void part_add_scatter_allgather(const struct script_part *part, uint32_t root, bool doubles, double bytes)
{
    part_add(part, SCRIPT_BLOCKS_DOWN, root, bytes);
    part_add(part, doubles ? SCRIPT_DOUBLE : SCRIPT_RING, root, bytes);
}

void part_add_halving(const struct script_part *part, uint32_t target, bool own_blocks, double bytes)
{
    part_add(part, SCRIPT_FOLD, 0, bytes)->target = target;
    struct script_phase *phase = part_add(part, SCRIPT_HALVE, 0, bytes);
    phase->target = target;
    phase->near_first = !own_blocks;
    phase->own_blocks = own_blocks;
}

void part_add_halved_reduce(const struct script_part *part, uint32_t root, double bytes)
{
    part_add_halving(part, root, false, bytes);
    struct script_phase *phase = part_add(part, SCRIPT_GATHER_HALVES, 0, bytes);
    phase->target = root;
    phase->near_first = true;
}

void part_add_halved_allreduce(const struct script_part *part, double bytes)
{
    part_add_halving(part, NONE, false, bytes);
    part_add(part, SCRIPT_DOUBLE, 0, bytes)->near_first = true;
    part_add(part, SCRIPT_UNFOLD, 0, bytes);
}

void part_add_halved_reduce_scatter(const struct script_part *part, double bytes)
{
    part_add_halving(part, NONE, true, bytes);
    part_add(part, SCRIPT_UNFOLD_BLOCK, 0, bytes);
}

void part_add_doubled_allreduce(const struct script_part *part, double bytes)
{
    part_add(part, SCRIPT_FOLD, 0, bytes);
    part_add(part, SCRIPT_EXCHANGE, 0, bytes);
    part_add(part, SCRIPT_UNFOLD, 0, bytes);
}
