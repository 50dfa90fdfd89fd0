/* The cube has nodes in ascending order, two a router, routers in order along its edges, x first, no way around (B Fig.
 * 8 of share/doc/MODELS.md: from router 3 to 11 of 27 it is 4 links). See links.h. */
#include "predictor/terms/links.h"

#include <math.h>
#include <stdlib.h>

#include "share/base/memory.h"

int links_delta(const struct machine *machine, double *delta_s_per_byte, struct error *error)
{
    *delta_s_per_byte = machine_value(machine, LEVEL_INTER_NODE, PROTOCOL_ANY, "delta",
                                      machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "delta", NAN));
    return isnan(*delta_s_per_byte)
               ? error_set(error,
                           "machine '%s' has no delta, which +contention needs: add a row `any any delta - VALUE s/B`, "
                           "or calibrate it over a shared link",
                           machine->name)
               : 0;
}

int links_init(struct links *links, const struct topology *topology, const struct placement *placement,
               const struct grouping *nodes, struct error *error)
{
    *links = (struct links){.topology = topology,
                            .position = xcalloc(nodes->n_groups, sizeof *links->position),
                            .route = xcalloc(topology->longest, sizeof *links->route)};
    for (size_t group = 0; group < nodes->n_groups; group++) {
        uint32_t node = placement->node[nodes->member[nodes->first[group]]];
        if (topology_position(topology, node, &links->position[group]) != 0)
            return error_set(error,
                             "node %u has no place in topology '%s' of %u positions: add a line `node %u POSITION` for "
                             "every node, or number the nodes of the placement from 0",
                             node, topology->name, topology->n_positions, node);
    }
    return 0;
}

void links_release(struct links *links)
{
    free(links->position);
    free(links->route);
    *links = (struct links){0};
}

long links_route(struct links *links, uint32_t src, uint32_t dst, struct error *error)
{
    uint32_t from = links->position[src], to = links->position[dst];
    long n = topology_route(links->topology, from, to, links->route);
    if (n < 0)
        error_set(error,
                  "topology '%s' has no route from position %u to %u, which the messages need: add `route %u %u ...`",
                  links->topology->name, from, to, from, to);
    return n;
}

uint32_t cube_edge(size_t n_nodes)
{
    uint32_t edge = 1;
    while ((size_t)edge * edge * edge < (n_nodes + 1) / 2)
        edge++;
    return edge;
}

uint32_t cube_hops(uint32_t edge, uint32_t src, uint32_t dst)
{
    uint32_t a = src / 2, b = dst / 2, hops = 0;
    for (int d = 0; d < 3; d++, a /= edge, b /= edge)
        hops += (uint32_t)abs((int)(a % edge) - (int)(b % edge));
    return hops;
}
