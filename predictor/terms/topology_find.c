/* A topology is a shipped one or a file, whose first line tells which form it has. */
#include "predictor/terms/topology_find.h"

#include <limits.h>

#include "predictor/terms/slurm_topology.h"
#include "share/base/installation.h"
#include "share/base/nearest.h"
#include "share/base/one_of.h"

static int read_either_form(const char *path, struct topology *topology, struct error *error)
{
    struct topology tree;
    if (!slurm_topology_is(path))
        return topology_read(path, topology, error);
    int result = slurm_topology_read(path, &tree, error);
    if (result == 0)
        *topology = tree;
    else
        topology_release(&tree);
    return result;
}

int topology_find(const char *name_or_path, struct topology *topology, struct error *error)
{
    char path[PATH_MAX];
    if (installation_named("topologies", ".topo", name_or_path, path, sizeof path) == 0)
        return read_either_form(path, topology, error);
    if (ends_with(name_or_path, ".conf") > 0)
        return read_either_form(name_or_path, topology, error);
    struct nearest nearest = nearest_to(name_or_path);
    installation_each("topologies", ".topo", nearest_add_named, &nearest, NULL);
    return error_set(error,
                     "topology '%.64s': not among the shipped ones (share/topologies), nor a .topo file or a "
                     "topology.conf%s",
                     name_or_path, nearest_hint(&nearest));
}
