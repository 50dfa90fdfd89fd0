/* The node's topology for ingest, which tags processors with socket, NUMA node, L3 and core.
 *
 * hwloc is loaded here and only here, with its symbols kept local, so that the job's own hwloc is not disturbed and
 * no recorded process needs one. hwloc itself honours HWLOC_XMLFILE and HWLOC_SYNTHETIC.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "run.h"

#define INCLUDE_DISALLOWED 1UL /* HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED: other ranks' processors too */

typedef struct hwloc_topology *hwloc_topology_t;

void topology_write(struct run *run)
{
    int claimed = open(run->topology, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (claimed < 0)
        return;
    close(claimed);
    run->made_topology = 1;
    void *hwloc = dlopen("libhwloc.so.15", RTLD_LOCAL | RTLD_NOW);
    hwloc_topology_t topology;
    int written = 0;
    if (hwloc) {
        int (*init)(hwloc_topology_t *) = (int (*)(hwloc_topology_t *))dlsym(hwloc, "hwloc_topology_init");
        int (*set_flags)(hwloc_topology_t, unsigned long) =
            (int (*)(hwloc_topology_t, unsigned long))dlsym(hwloc, "hwloc_topology_set_flags");
        int (*load)(hwloc_topology_t) = (int (*)(hwloc_topology_t))dlsym(hwloc, "hwloc_topology_load");
        int (*export_xml)(hwloc_topology_t, const char *, unsigned long) =
            (int (*)(hwloc_topology_t, const char *, unsigned long))dlsym(hwloc, "hwloc_topology_export_xml");
        void (*destroy)(hwloc_topology_t) = (void (*)(hwloc_topology_t))dlsym(hwloc, "hwloc_topology_destroy");
        if (init && set_flags && load && export_xml && destroy && init(&topology) == 0) {
            set_flags(topology, INCLUDE_DISALLOWED);
            written = load(topology) == 0 && export_xml(topology, run->topology, 0) == 0;
            destroy(topology);
        }
        dlclose(hwloc);
    }
    if (!written) {
        unlink(run->topology);
        run->made_topology = 0;
        run->topology[0] = '\0';
    }
}
