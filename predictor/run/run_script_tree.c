/* Trees follow from the digits of the members' numbers. See run_script_tree.h. */
#include "predictor/run/run_script_tree.h"

#define NONE UINT32_MAX

static uint32_t radix_of(int tree)
{
    return tree == TREE_KNOMIAL ? 4 : 2;
}

/* Returns the largest power of the radix that divides v; of the root, the smallest one that is at least n. */
static uint64_t span_of(uint32_t radix, uint32_t n, uint32_t v)
{
    uint64_t span = 1;
    while (v == 0 ? span < n : v % (radix * span) == 0)
        span *= radix;
    return span;
}

static uint32_t highest_bit(uint32_t v)
{
    uint32_t bit = 1;
    while (v >> 1 >= bit)
        bit *= 2;
    return bit;
}

uint32_t script_tree_child(int tree, uint32_t n, uint32_t v, uint32_t i)
{
    uint64_t child = n;
    switch ((enum script_tree)tree) {
    case TREE_FLAT:
        child = v == 0 ? (uint64_t)i + 1 : n;
        break;
    case TREE_CHAIN:
        child = i == 0 ? (uint64_t)v + 1 : n;
        break;
    case TREE_BINARY:
        child = i < 2 ? v + ((uint64_t)i + 1) * highest_bit(v + 1) : n;
        break;
    case TREE_BINOMIAL_HIGH:
        child = i < 32 ? v + ((uint64_t)(v == 0 ? 1 : 2 * highest_bit(v)) << i) : n;
        break;
    case TREE_BINOMIAL:
    case TREE_KNOMIAL:
        for (uint64_t radix = radix_of(tree), span = span_of((uint32_t)radix, n, v) / radix; span > 0; span /= radix)
            for (uint64_t k = 1; k < radix && v + k * span < n; k++)
                if (i-- == 0)
                    return (uint32_t)(v + k * span);
        break;
    }
    return child < n ? (uint32_t)child : NONE;
}

uint32_t script_tree_children(int tree, uint32_t n, uint32_t v)
{
    uint32_t count = 0;
    if (tree == TREE_FLAT)
        return v == 0 && n > 0 ? n - 1 : 0;
    while (script_tree_child(tree, n, v, count) != NONE)
        count++;
    return count;
}

uint32_t script_tree_parent(int tree, uint32_t v)
{
    uint32_t level = highest_bit(v + 1), parent = v - level / 2;
    uint64_t span = radix_of(tree) * span_of(radix_of(tree), 0, v);
    switch ((enum script_tree)tree) {
    case TREE_FLAT:
        break;
    case TREE_CHAIN:
        return v - 1;
    case TREE_BINARY:
        return parent >= level - 1 ? parent - level / 2 : parent;
    case TREE_BINOMIAL_HIGH:
        return v & ~highest_bit(v);
    case TREE_BINOMIAL:
    case TREE_KNOMIAL:
        return (uint32_t)(v / span * span);
    }
    return 0;
}

uint32_t script_tree_below(int tree, uint32_t n, uint32_t v)
{
    uint64_t span = tree == TREE_FLAT ? (v == 0 ? n : 1) : span_of(2, n, v);
    return span < n - v ? (uint32_t)span : n - v;
}
