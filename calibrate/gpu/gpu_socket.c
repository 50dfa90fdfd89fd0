/* hwloc reads PCI devices only where it is asked to. */
#include "calibrate/gpu/gpu_socket.h"

#include <hwloc.h>

static int find(hwloc_topology_t topology, const char *bus_id)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus_id);
    hwloc_obj_t near = device != NULL ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
    int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
    for (int i = 0; near != NULL && near->cpuset != NULL && i < n; i++)
        if (hwloc_bitmap_isincluded(near->cpuset,
                                    hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, (unsigned)i)->cpuset))
            return i;
    return -1;
}

int gpu_socket(const char *bus_id)
{
    hwloc_topology_t topology;
    int socket = -1;
    if (hwloc_topology_init(&topology) != 0)
        return -1;
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc_topology_load(topology) == 0)
        socket = find(topology, bus_id);
    hwloc_topology_destroy(topology);
    return socket;
}
