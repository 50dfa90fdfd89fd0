/* Nodes that are connected by edges form a component. If all nodes of a component can have a partner, as many on one
 * side as on the other, they are taken to have one: a node with a single edge left has that partner, which removes all
 * other edges of the partner, and so on. So two nodes are paired only if every way to pair the whole component pairs
 * them. In a component with more nodes on one side it is unknown whose partner was not recorded: nothing is paired
 * there. */
#include "interpose/trace/communicators/partners.h"

#include <stdbool.h>
#include <stdlib.h>

#include "share/base/memory.h"

struct work {
    uint32_t *component; /* [n_nodes] a node that stands for the component, or the next one on the way there */
    int64_t *surplus;    /* [n_nodes] for nodes that stand for a component: how many more it has on side 1 than on side
                          * -1 */
    uint32_t *members;   /* [n_nodes] for nodes that stand for a component: how many nodes it has */
    uint32_t *left;      /* [n_nodes] edges to nodes without a partner */
};

static uint32_t find_component(uint32_t *component, uint32_t node)
{
    while (component[node] != node)
        node = component[node] = component[component[node]];
    return node;
}

static bool is_even(const struct work *work, uint32_t node)
{
    uint32_t component = find_component(work->component, node);
    return work->surplus[component] == 0 && work->members[component] % 2 == 0;
}

static void find_components(struct work *work, const struct partners_edge *edges, size_t n_edges, size_t n_nodes,
                            const int8_t *side)
{
    for (uint32_t i = 0; i < n_nodes; i++)
        work->component[i] = i;
    for (size_t i = 0; i < n_edges; i++)
        work->component[find_component(work->component, edges[i].a)] = find_component(work->component, edges[i].b);
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t component = find_component(work->component, i);
        work->surplus[component] += side[i];
        work->members[component]++;
    }
}

static bool is_open_world(const struct partners_edge *edge, const uint32_t *partner)
{
    return partner[edge->a] == PARTNERS_NONE && partner[edge->b] == PARTNERS_NONE;
}

static void pair_worlds(struct work *work, const struct partners_edge *edges, size_t n_edges, size_t which,
                        uint32_t *partner)
{
    uint32_t a = edges[which].a, b = edges[which].b;
    for (size_t i = 0; i < n_edges; i++) {
        const struct partners_edge *edge = &edges[i];
        if (is_open_world(edge, partner) && (edge->a == a || edge->b == a || edge->a == b || edge->b == b)) {
            work->left[edge->a]--;
            work->left[edge->b]--;
        }
    }
    partner[a] = b;
    partner[b] = a;
}

void partners_find(const struct partners_edge *edges, size_t n_edges, size_t n_nodes, const int8_t *side,
                   uint32_t *partner, uint32_t *candidates)
{
    struct work work = {xcalloc(n_nodes, sizeof *work.component), xcalloc(n_nodes, sizeof *work.surplus),
                        xcalloc(n_nodes, sizeof *work.members), xcalloc(n_nodes, sizeof *work.left)};
    for (size_t i = 0; i < n_nodes; i++) {
        partner[i] = PARTNERS_NONE;
        candidates[i] = 0;
    }
    find_components(&work, edges, n_edges, n_nodes, side);
    for (size_t i = 0; i < n_edges; i++) {
        work.left[edges[i].a] = ++candidates[edges[i].a];
        work.left[edges[i].b] = ++candidates[edges[i].b];
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < n_edges; i++) {
            const struct partners_edge *edge = &edges[i];
            if (!is_open_world(edge, partner) || (work.left[edge->a] != 1 && work.left[edge->b] != 1) ||
                !is_even(&work, edge->a))
                continue;
            pair_worlds(&work, edges, n_edges, i, partner);
            changed = true;
        }
    }
    free(work.component);
    free(work.surplus);
    free(work.members);
    free(work.left);
}
