/* Holds a topology in memory: what its parameters make of it, where its nodes are, where its file is. */
#include "predictor/terms/topology.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/installation.h"
#include "share/base/nearest.h"
#include "calibrate/machine/machine.h"

const char *const topology_kind_name[TOPOLOGY_KIND_COUNT] = {"torus", "mesh", "fat-tree", "dragonfly", "links"};

static int measure_grid(struct topology *topology, uint64_t *positions, uint64_t *links, struct error *error)
{
    if (topology->n_levels == 0)
        return error_set(error, "expected a line `dimensions K ...`, the routers along each dimension");
    *positions = topology->nodes_per_router;
    for (size_t d = 0; d < topology->n_levels && *positions <= TOPOLOGY_MAX_POSITIONS; d++) {
        *positions *= topology->size[d];
        topology->longest += topology->kind == TOPOLOGY_MESH ? topology->size[d] - 1 : topology->size[d] / 2;
    }
    *links = *positions / topology->nodes_per_router * topology->n_levels * 2;
    return 0;
}

static int measure_fat_tree(struct topology *topology, uint64_t *positions, uint64_t *links, struct error *error)
{
    if (topology->n_levels == 0 || topology->parents[topology->n_levels - 1] == 0 ||
        (topology->n_levels < TOPOLOGY_MAX_LEVELS && topology->parents[topology->n_levels] != 0))
        return error_set(error, "expected lines `children K ...` and `parents K ...` with a number a level each");
    *positions = 1;
    for (size_t l = 0; l < topology->n_levels && *positions <= TOPOLOGY_MAX_POSITIONS; l++)
        *positions *= topology->size[l];
    uint64_t switches = *positions;
    for (size_t l = 0; l + 1 < topology->n_levels && *links <= TOPOLOGY_MAX_LINKS; l++) {
        switches = switches / topology->size[l] * topology->parents[l];
        *links += 2 * switches * topology->parents[l + 1];
    }
    topology->longest = 2 * (topology->n_levels - 1);
    return 0;
}

static int measure_dragonfly(struct topology *topology, uint64_t *positions, uint64_t *links, struct error *error)
{
    uint64_t groups = topology->groups, routers = topology->routers, global = topology->global_links;
    if (groups == 0 || routers == 0 || global == 0)
        return error_set(error,
                         "expected lines `groups K`, `routers K` (of a group) and `global_links K` (of a router)");
    if (routers * global < groups - 1)
        return error_set(error, "%llu routers with %llu global links reach %llu groups, not the other %llu",
                         (unsigned long long)routers, (unsigned long long)global,
                         (unsigned long long)(routers * global), (unsigned long long)(groups - 1));
    if (groups > TOPOLOGY_MAX_LINKS || routers > TOPOLOGY_MAX_LINKS || global > TOPOLOGY_MAX_LINKS)
        *links = UINT64_MAX;
    else
        *links = groups * routers > TOPOLOGY_MAX_LINKS ? UINT64_MAX : groups * routers * (routers + global);
    *positions = *links == UINT64_MAX ? 1 : groups * routers * topology->nodes_per_router;
    topology->longest = 3;
    return 0;
}

int topology_measure(struct topology *topology, struct error *error)
{
    uint64_t positions = topology->n_positions, links = 0;
    int result = 0;
    if (topology->nodes_per_router == 0)
        topology->nodes_per_router = 1;
    if (topology->kind != TOPOLOGY_LINKS)
        topology->longest = 0;
    if (topology->kind == TOPOLOGY_LINKS)
        links = topology->n_links;
    else if (topology->kind == TOPOLOGY_DRAGONFLY)
        result = measure_dragonfly(topology, &positions, &links, error);
    else if (topology->kind == TOPOLOGY_FAT_TREE)
        result = measure_fat_tree(topology, &positions, &links, error);
    else
        result = measure_grid(topology, &positions, &links, error);
    if (result != 0)
        return -1;
    if (positions > TOPOLOGY_MAX_POSITIONS || links > TOPOLOGY_MAX_LINKS)
        return error_set(error, "more than %d positions for nodes or %d links", TOPOLOGY_MAX_POSITIONS,
                         TOPOLOGY_MAX_LINKS);
    topology->n_positions = (uint32_t)positions;
    topology->n_links = (size_t)links;
    return 0;
}

int topology_compare_places(const void *a, const void *b)
{
    const struct topology_place *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

int topology_position(const struct topology *topology, uint32_t node, uint32_t *position)
{
    struct topology_place place = {.node = node, .position = node};
    if (topology->n_places > 0) {
        const struct topology_place *found =
            bsearch(&place, topology->places, topology->n_places, sizeof place, topology_compare_places);
        if (found == NULL)
            return -1;
        place = *found;
    }
    if (place.position >= topology->n_positions)
        return -1;
    *position = place.position;
    return 0;
}

int topology_find(const char *name_or_path, struct topology *topology, struct error *error)
{
    char path[PATH_MAX];
    if (installation_named("topologies", ".topo", name_or_path, path, sizeof path) == 0)
        return topology_read(path, topology, error);
    struct nearest nearest = nearest_to(name_or_path);
    installation_each("topologies", ".topo", nearest_add_named, &nearest, NULL);
    return error_set(error, "topology '%.64s': not among the shipped ones (share/topologies), nor a .topo file%s",
                     name_or_path, nearest_hint(&nearest));
}

void topology_release(struct topology *topology)
{
    free(topology->routes);
    free(topology->route_links);
    free(topology->places);
    *topology = (struct topology){0};
}
