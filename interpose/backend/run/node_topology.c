/* Writes the node's topology for ingest, which tags processors with socket, NUMA node, L3 and core.
 *
 * hwloc is loaded here and only here, with its symbols kept local, so that the job's own hwloc is not disturbed and no
 * recorded process needs one. hwloc itself honours HWLOC_XMLFILE and HWLOC_SYNTHETIC. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "interpose/backend/run/folder.h"
#include "interpose/backend/run/node_topology.h"
#include "interpose/backend/run/run.h"

#define INCLUDE_DISALLOWED 1UL /* HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED: other ranks' processors too */

typedef struct hwloc_topology *hwloc_topology_t;

typedef int export_xml_buffer(hwloc_topology_t, char **xml, int *bytes, unsigned long flags);

struct text {
    char *xml;
    int bytes; /* includes the 0 at its end */
};

static int write_text(int fd, const void *data)
{
    const struct text *text = data;
    return text->bytes > 0 && write(fd, text->xml, (size_t)text->bytes - 1) == text->bytes - 1 ? 0 : -1;
}

void topology_write(struct run *run)
{
    int claimed = folder_create(run, run->topology, 0);
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
        export_xml_buffer *export_xml = (export_xml_buffer *)dlsym(hwloc, "hwloc_topology_export_xmlbuffer");
        void (*free_xml)(hwloc_topology_t, char *) =
            (void (*)(hwloc_topology_t, char *))dlsym(hwloc, "hwloc_free_xmlbuffer");
        void (*destroy)(hwloc_topology_t) = (void (*)(hwloc_topology_t))dlsym(hwloc, "hwloc_topology_destroy");
        if (init && set_flags && load && export_xml && free_xml && destroy && init(&topology) == 0) {
            struct text text = {NULL, 0};
            set_flags(topology, INCLUDE_DISALLOWED);
            if (load(topology) == 0 && export_xml(topology, &text.xml, &text.bytes, 0) == 0) {
                written = folder_write(run, run->topology, write_text, &text) == 0;
                free_xml(topology, text.xml);
            }
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
