#include "place.h"

#include <hwloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Logical index of the package that holds the processor that runs this; 0 where hwloc does not know. The processor is
 * the kernel's number, so that a topology from HWLOC_XMLFILE or HWLOC_SYNTHETIC is honoured. */
static uint32_t own_socket(void)
{
    uint32_t socket = 0;
    hwloc_topology_t topology;
    int cpu = sched_getcpu();
    if (cpu < 0 || hwloc_topology_init(&topology) != 0)
        return 0;
    if (hwloc_topology_load(topology) == 0) {
        int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
        for (int i = 0; i < n; i++) {
            hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, (unsigned)i);
            if (hwloc_bitmap_isset(package->cpuset, (unsigned)cpu))
                socket = (uint32_t)i;
        }
    }
    hwloc_topology_destroy(topology);
    return socket;
}

/* Numbers the hosts of names[n][MPI_MAX_PROCESSOR_NAME] by first appearance; ranks of a host usually follow each other.
 */
static void number_hosts(const char *names, int n, int *host)
{
    int n_hosts = 0;
    int *first = calloc((size_t)n, sizeof *first); /* first rank of each host */
    for (int rank = 0; rank < n; rank++) {
        const char *name = names + (size_t)rank * MPI_MAX_PROCESSOR_NAME;
        int found = rank > 0 ? host[rank - 1] : 0;
        if (n_hosts == 0 || strcmp(name, names + (size_t)first[found] * MPI_MAX_PROCESSOR_NAME) != 0)
            for (found = 0; found < n_hosts; found++)
                if (strcmp(name, names + (size_t)first[found] * MPI_MAX_PROCESSOR_NAME) == 0)
                    break;
        if (found == n_hosts)
            first[n_hosts++] = rank;
        host[rank] = found;
    }
    free(first);
}

/* Rank 0: replaces what was observed by a placement given by hand. */
static int place_by_hand(struct placement *placement, struct error *error)
{
    const char *path = getenv("MPISTAIR_PLACEMENT");
    if (path == NULL || path[0] == '\0')
        return 0;
    struct placement given;
    if (placement_read_csv(path, &given, error) != 0)
        return -1;
    int result = 0;
    if (given.n_ranks < placement->n_ranks)
        result = error_set(error, "%s: places %zu ranks, but the job has %zu", path, given.n_ranks, placement->n_ranks);
    for (size_t i = 0; i < placement->n_ranks && result == 0; i++) {
        placement->node[i] = given.node[i];
        placement->socket[i] = given.socket[i];
    }
    placement_release(&given);
    return result;
}

int place_find(MPI_Comm comm, struct placement *placement, int **host, struct error *error)
{
    int rank, size, length, result = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    size_t n = (size_t)size;
    struct placement found = {
        .n_ranks = n, .node = calloc(n, sizeof *found.node), .socket = calloc(n, sizeof *found.socket)};
    int *hosts = calloc(n, sizeof *hosts);
    char *names = rank == 0 ? calloc(n, MPI_MAX_PROCESSOR_NAME) : NULL;
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    if (found.node == NULL || found.socket == NULL || hosts == NULL || (rank == 0 && names == NULL)) {
        fprintf(stderr, "mpistair: rank %d: no memory for the places of %zu ranks\n", rank, n);
        MPI_Abort(comm, 1);
    }
    MPI_Get_processor_name(name, &length);
    uint32_t socket = own_socket();
    MPI_Gather(name, sizeof name, MPI_CHAR, names, sizeof name, MPI_CHAR, 0, comm);
    MPI_Gather(&socket, 1, MPI_UINT32_T, found.socket, 1, MPI_UINT32_T, 0, comm);
    if (rank == 0) {
        number_hosts(names, size, hosts);
        for (size_t i = 0; i < n; i++)
            found.node[i] = (uint32_t)hosts[i];
        result = place_by_hand(&found, error);
    }
    free(names);
    MPI_Bcast(&result, 1, MPI_INT, 0, comm);
    MPI_Bcast(hosts, size, MPI_INT, 0, comm);
    MPI_Bcast(found.node, size, MPI_UINT32_T, 0, comm);
    MPI_Bcast(found.socket, size, MPI_UINT32_T, 0, comm);
    if (result != 0) {
        placement_release(&found);
        free(hosts);
        return -1;
    }
    *placement = found;
    *host = hosts;
    return 0;
}
