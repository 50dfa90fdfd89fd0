/* Node and socket numbers may be any: ranks are sorted by them, and a group is a run of equal ones. */
#include "predictor/pattern/group.h"

#include <stdlib.h>

#include "share/base/memory.h"

struct group_order {
    const struct placement *placement;
    enum group_by by;
};

/* Compares the groups of two ranks: -1, 0, 1. */
static int compare_ranks_places(const struct group_order *order, uint32_t a, uint32_t b)
{
    const struct placement *placement = order->placement;
    if (placement->node[a] != placement->node[b])
        return placement->node[a] < placement->node[b] ? -1 : 1;
    if (order->by == GROUP_BY_NODE || placement->socket[a] == placement->socket[b])
        return 0;
    return placement->socket[a] < placement->socket[b] ? -1 : 1;
}

static int compare_ranks(const void *a, const void *b, void *order)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int places = compare_ranks_places(order, x, y);
    return places != 0 ? places : (x > y) - (x < y);
}

void grouping_init(struct grouping *grouping, const struct placement *placement, enum group_by by)
{
    size_t n_ranks = placement->n_ranks;
    *grouping = (struct grouping){.first = xmalloc((n_ranks + 1) * sizeof *grouping->first),
                                  .member = xmalloc((n_ranks + 1) * sizeof *grouping->member),
                                  .of = xmalloc((n_ranks + 1) * sizeof *grouping->of)};
    struct group_order order = {.placement = placement, .by = by};
    for (size_t i = 0; i < n_ranks; i++)
        grouping->member[i] = (uint32_t)i;
    qsort_r(grouping->member, n_ranks, sizeof *grouping->member, compare_ranks, &order);
    grouping->first[0] = 0;
    for (size_t i = 1; i <= n_ranks; i++) {
        if (i < n_ranks && compare_ranks_places(&order, grouping->member[i - 1], grouping->member[i]) == 0)
            continue;
        size_t begin = grouping->first[grouping->n_groups], size = i - begin;
        for (size_t k = begin; k < i; k++)
            grouping->of[grouping->member[k]] = (uint32_t)grouping->n_groups;
        grouping->first[++grouping->n_groups] = i;
        if (size > grouping->largest)
            grouping->largest = size;
    }
}

void grouping_release(struct grouping *grouping)
{
    FREE_ALL(grouping->first, grouping->member, grouping->of);
    *grouping = (struct grouping){0};
}
