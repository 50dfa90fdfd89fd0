/* Finds which links a message crosses: each pair has one minimal route, as the static routing of each network has it.
 *
 *   torus, mesh  Routes go in dimension order: along the first dimension to the target's coordinate, then the second,
 *                ...; in a ring the shorter way, upwards where both are alike. A link is router, dimension, direction.
 *   fat-tree     It is an extended generalised fat tree, XGFT(h; m_1 .. m_h; w_1 .. w_h) (S. Ohring, M. Ibel,
 *                S. K. Das and M. J. Kumar, On Generalized Fat Trees, IPPS 1995): a switch of level l has m_l children,
 *                and w_(l+1) parents. Routes go up to the lowest common level, then down, by destination (D-mod-K:
 *                E. Zahavi, Concurrency and Computation 24(5), 2012): the parent number of level l+1 is
 *                floor(dst / (w_1 .. w_l)) mod w_(l+1). A link is switch, parent number, up or down.
 *   dragonfly    J. Kim, W. J. Dally, S. Scott and D. Abts, Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA
 *                2008: g groups of a routers, all joined within a group, h links of each to other groups. Minimal
 *                routes have at most one link within the source's group, one between groups, one within the target's.
 *                Port k of group i (router k / h) leads to group k mod (g-1), numbered without i; where two groups
 *                share several links, the target's position chooses. A link is a pair of routers of a group in order,
 *                or group and port.
 *   links        Routes are as listed.
 *
 * Limits: adaptive routing (Aries, Slingshot) spreads what is taken here as one route. */
#include <stdlib.h>

#include "predictor/terms/topology.h"

static size_t torus_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    uint32_t here = src / topology->nodes_per_router, there = dst / topology->nodes_per_router, stride = 1;
    size_t n = 0;
    for (size_t d = 0; d < topology->n_levels; d++) {
        uint32_t size = topology->size[d], at = here / stride % size, to = there / stride % size;
        uint32_t up = (to + size - at) % size;
        bool upwards = topology->kind == TOPOLOGY_MESH ? to > at : up <= size - up;
        for (; at != to; n++) {
            links[n] = (uint32_t)((here * topology->n_levels + d) * 2 + !upwards);
            uint32_t next = upwards ? (at + 1 < size ? at + 1 : 0) : (at > 0 ? at : size) - 1;
            here = here + next * stride - at * stride;
            at = next;
        }
        stride *= size;
    }
    return n;
}

/* Finds a route in a fat tree. Going up, a switch of level l is known by the parents chosen so far (digits of base w_1,
 * w_2, ...) and by the subtree of its level that it serves; going down the subtree is the target's. */
static size_t fat_tree_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    size_t top = 0;
    for (uint32_t a = src, b = dst; a != b; top++) {
        a /= topology->size[top];
        b /= topology->size[top];
    }
    size_t n = 0, base = 0, switches = topology->n_positions, choices = 1, chosen = 0;
    uint32_t from = src, to = dst;
    for (size_t level = 0; level < top; level++) { /* the link from level to level + 1 */
        uint32_t parents = topology->parents[level];
        uint32_t parent = (uint32_t)(dst / choices % parents);
        if (level > 0) {
            links[n] = (uint32_t)(base + 2 * ((from * choices + chosen) * parents + parent));
            links[2 * top - 3 - n] = (uint32_t)(base + 2 * ((to * choices + chosen) * parents + parent) + 1);
            n++;
            base += 2 * switches * parents;
        }
        chosen += parent * choices;
        choices *= parents;
        from /= topology->size[level];
        to /= topology->size[level];
        switches = switches / topology->size[level] * parents;
    }
    return 2 * n;
}

static size_t dragonfly_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    uint32_t a = topology->routers, h = topology->global_links, others = topology->groups - 1;
    uint32_t from = src / topology->nodes_per_router, to = dst / topology->nodes_per_router;
    uint32_t i = from / a, j = to / a, leave = to % a;
    size_t n = 0;
    from %= a;
    to %= a;
    if (i != j) {
        uint32_t copy = dst % (a * h / others) * others;
        uint32_t out = (j < i ? j : j - 1) + copy, in = (i < j ? i : i - 1) + copy;
        leave = out / h;
        if (from != leave)
            links[n++] = (i * a + from) * a + leave;
        links[n++] = topology->groups * a * a + i * a * h + out;
        from = in / h;
    }
    if (from != to)
        links[n++] = (j * a + from) * a + to;
    return n;
}

int topology_compare_routes(const void *a, const void *b)
{
    const struct topology_route *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    return (x->dst > y->dst) - (x->dst < y->dst);
}

long topology_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links)
{
    if (src == dst)
        return 0;
    switch (topology->kind) {
    case TOPOLOGY_TORUS:
    case TOPOLOGY_MESH:
        return (long)torus_route(topology, src, dst, links);
    case TOPOLOGY_FAT_TREE:
        return (long)fat_tree_route(topology, src, dst, links);
    case TOPOLOGY_DRAGONFLY:
        return (long)dragonfly_route(topology, src, dst, links);
    default:
        break;
    }
    const struct topology_route wanted = {.src = src, .dst = dst};
    const struct topology_route *route = topology->n_routes > 0 ? bsearch(&wanted, topology->routes, topology->n_routes,
                                                                          sizeof wanted, topology_compare_routes)
                                                                : NULL;
    if (route == NULL)
        return -1;
    for (size_t i = 0; i < route->n_links; i++)
        links[i] = topology->route_links[route->first + i];
    return (long)route->n_links;
}
