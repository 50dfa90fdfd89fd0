/* Each rank sees only itself; all must know the whole placement, from hwloc on each rank or from a placement that the
 * user gives instead. */
#include "calibrate/measure/rank_place.h"

#include <hwloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/measure/levels.h"
#include "share/base/memory.h"
#include "calibrate/samples/notes.h"

_Static_assert(HOST_BYTES >= MPI_MAX_PROCESSOR_NAME, "the name of a host fits in a seat");

/* Returns the logical index of the first object of that type whose processors include all of cpus; PLACEMENT_UNKNOWN if
 * none does. */
static uint32_t index_around(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t cpus)
{
    int n = hwloc_get_nbobjs_by_type(topology, type);
    for (int i = 0; i < n && !hwloc_bitmap_iszero(cpus); i++)
        if (hwloc_bitmap_isincluded(cpus, hwloc_get_obj_by_type(topology, type, (unsigned)i)->cpuset))
            return (uint32_t)i;
    return PLACEMENT_UNKNOWN;
}

/* Finds the first processor of each core that has one of cpus; cpus themselves where hwloc sees no cores. */
static void find_cores(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, cpu_set_t *cores)
{
    int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    for (int i = 0; i < n; i++) {
        hwloc_const_cpuset_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i)->cpuset;
        int first = hwloc_bitmap_first(core);
        if (first >= 0 && first < CPU_SETSIZE && hwloc_bitmap_intersects(core, cpus))
            CPU_SET((unsigned)first, cores);
    }
}

/* Finds everything but the host's name. Processors have the kernel's numbers, so that a topology from HWLOC_XMLFILE or
 * HWLOC_SYNTHETIC is honoured. */
static void find_seat(struct seat *seat)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *seat = (struct seat){
        .processors = processors > 0 ? (uint32_t)processors : 0, .numa = PLACEMENT_UNKNOWN, .l3 = PLACEMENT_UNKNOWN};
    hwloc_topology_t topology;
    int cpu = sched_getcpu();
    if (sched_getaffinity(0, sizeof seat->cpus, &seat->cpus) != 0)
        CPU_ZERO(&seat->cpus);
    seat->cores = seat->cpus;
    if (hwloc_topology_init(&topology) != 0)
        return;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc(), here = hwloc_bitmap_alloc();
    if (allowed != NULL && here != NULL && hwloc_topology_load(topology) == 0) {
        for (unsigned i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &seat->cpus))
                hwloc_bitmap_set(allowed, i);
        hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_topology_cpuset(topology));
        if (cpu >= 0)
            hwloc_bitmap_set(here, (unsigned)cpu);
        uint32_t socket = index_around(topology, HWLOC_OBJ_PACKAGE, here);
        seat->socket = socket != PLACEMENT_UNKNOWN ? socket : 0;
        seat->numa = index_around(topology, HWLOC_OBJ_NUMANODE, allowed);
        seat->l3 = index_around(topology, HWLOC_OBJ_L3CACHE, allowed);
        if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0) {
            CPU_ZERO(&seat->cores);
            find_cores(topology, allowed, &seat->cores);
        }
    }
    hwloc_bitmap_free(allowed);
    hwloc_bitmap_free(here);
    hwloc_topology_destroy(topology);
}

/* Numbers the hosts of n seats by first appearance; ranks of a host usually follow each other. */
static void number_hosts(const struct seat *seats, int n, int *host)
{
    int n_hosts = 0;
    int *first = xcalloc((size_t)n, sizeof *first); /* first rank of each host */
    for (int rank = 0; rank < n; rank++) {
        const char *name = seats[rank].host;
        int found = rank > 0 ? host[rank - 1] : 0;
        if (n_hosts == 0 || strcmp(name, seats[first[found]].host) != 0)
            for (found = 0; found < n_hosts; found++)
                if (strcmp(name, seats[first[found]].host) == 0)
                    break;
        if (found == n_hosts)
            first[n_hosts++] = rank;
        host[rank] = found;
    }
    free(first);
}

/* Places all ranks as observed, on rank 0. */
static void place_observed(const struct seat *seats, const int *host, struct placement *placement)
{
    for (size_t i = 0; i < placement->n_ranks; i++) {
        placement->node[i] = (uint32_t)host[i];
        placement->socket[i] = seats[i].socket;
        placement->numa[i] = seats[i].numa;
        placement->l3[i] = seats[i].l3;
    }
}

/* Replaces, on rank 0, what was observed by a placement given by hand. */
static int place_by_hand(struct placement *placement, struct error *error)
{
    const char *path = getenv("MPISTAIR_PLACEMENT");
    if (path == NULL || path[0] == '\0')
        return 0;
    struct placement given;
    if (placement_read_csv(path, &given, error) != 0)
        return -1;
    if (given.n_ranks < placement->n_ranks) {
        error_set(error, "%s: places %zu ranks, but the job has %zu", path, given.n_ranks, placement->n_ranks);
        placement_release(&given);
        return -1;
    }
    given.n_ranks = placement->n_ranks;
    placement_release(placement);
    *placement = given;
    return 0;
}

int place_find(MPI_Comm comm, FILE *notes, struct placement *placement, int **host, struct error *error)
{
    int rank, size, length, result = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    size_t n = (size_t)size;
    struct placement found = {0};
    struct seat own, *seats = rank == 0 ? xcalloc(n, sizeof *seats) : NULL;
    int *hosts = xcalloc(n, sizeof *hosts);
    placement_init(&found, n);
    find_seat(&own);
    MPI_Get_processor_name(own.host, &length);
    MPI_Gather(&own, sizeof own, MPI_BYTE, seats, sizeof own, MPI_BYTE, 0, comm);
    if (rank == 0) {
        number_hosts(seats, size, hosts);
        place_observed(seats, hosts, &found);
        result = place_by_hand(&found, error);
        if (result == 0 && notes != NULL) {
            binding_note(notes, &found, seats, hosts);
            levels_note_domains(notes, &found);
        }
    }
    free(seats);
    MPI_Bcast(&result, 1, MPI_INT, 0, comm);
    MPI_Bcast(hosts, size, MPI_INT, 0, comm);
    uint32_t *const columns[] = {found.node, found.socket, found.numa, found.l3};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        MPI_Bcast(columns[i], size, MPI_UINT32_T, 0, comm);
    if (result != 0) {
        placement_release(&found);
        free(hosts);
        return -1;
    }
    *placement = found;
    *host = hosts;
    return 0;
}

/* A table measured with bound ranks misleads a job whose ranks wander, so the table's source says in a few words how
 * its ranks were bound. */

static void print_index(FILE *stream, uint32_t index)
{
    if (index == PLACEMENT_UNKNOWN)
        fputs(" -", stream);
    else
        fprintf(stream, " %u", index);
}

/* Prints as 0-3,8; - for an empty set. */
static void print_cpus(FILE *stream, const cpu_set_t *cpus)
{
    const char *separator = " ";
    for (size_t first = 0, end; first < CPU_SETSIZE; first = end) {
        for (end = first; end < CPU_SETSIZE && CPU_ISSET(end, cpus);)
            end++;
        if (end == first) {
            end++;
            continue;
        }
        fprintf(stream, "%s%zu", separator, first);
        if (end - first > 1)
            fprintf(stream, "-%zu", end - 1);
        separator = ",";
    }
    if (CPU_COUNT(cpus) == 0)
        fputs(" -", stream);
}

static void print_place(FILE *stream, const struct placement *placement, size_t rank, const struct seat *seat)
{
    fprintf(stream, MEASURE_NOTE "place %zu %u %u", rank, placement->node[rank], placement->socket[rank]);
    print_index(stream, placement->numa[rank]);
    print_index(stream, placement->l3[rank]);
    fputc(' ', stream);
    for (const char *c = seat->host; *c != '\0'; c++)
        fputc(strchr(" \t\r\n", *c) != NULL ? '_' : *c, stream);
    print_cpus(stream, &seat->cpus);
    fputc('\n', stream);
}

/* What the ranks of one host have together. */
struct host {
    cpu_set_t cores;
    int ranks;
    int shares; /* cores of each rank, added */
};

/* Notes ranks and cores of the host with the most ranks a core, where that is more than one. */
static void note_oversubscribed(FILE *stream, const struct host *hosts, int n_hosts)
{
    int ranks = 0, cores = 0;
    for (int i = 0; i < n_hosts; i++) {
        int own = CPU_COUNT(&hosts[i].cores);
        if (own > 0 && hosts[i].ranks > own && (ranks == 0 || (double)hosts[i].ranks / own > (double)ranks / cores)) {
            ranks = hosts[i].ranks;
            cores = own;
        }
    }
    if (ranks > 0)
        fprintf(stream, MEASURE_NOTE "oversubscribed %d %d\n", ranks, cores);
}

static void note_binding(FILE *stream, const struct seat *seats, size_t n, const struct host *hosts, int n_hosts)
{
    int fewest = CPU_SETSIZE, most = 0;
    bool bound = false, own_core = true;
    for (size_t i = 0; i < n; i++) {
        int cpus = CPU_COUNT(&seats[i].cpus);
        fewest = cpus < fewest ? cpus : fewest;
        most = cpus > most ? cpus : most;
        bound = bound || (uint32_t)cpus < seats[i].processors;
        own_core = own_core && CPU_COUNT(&seats[i].cores) == 1;
    }
    for (int i = 0; i < n_hosts; i++)
        own_core = own_core && hosts[i].shares == CPU_COUNT(&hosts[i].cores);
    fprintf(stream, MEASURE_NOTE "binding %zu rank%s ", n, n == 1 ? "" : "s");
    if (fewest == 0)
        fputs("whose binding is not known", stream);
    else if (own_core && bound)
        fputs("bound to a core each", stream);
    else if (!bound)
        fputs("unbound", stream);
    else if (fewest == most)
        fprintf(stream, "bound to %d processor%s each", most, most == 1 ? "" : "s");
    else
        fprintf(stream, "bound to %d to %d processors each", fewest, most);
    fprintf(stream, " on %d node%s\n", n_hosts, n_hosts == 1 ? "" : "s");
}

void binding_note(FILE *stream, const struct placement *placement, const struct seat *seats, const int *host)
{
    size_t n = placement->n_ranks;
    int n_hosts = 0;
    for (size_t i = 0; i < n; i++) {
        print_place(stream, placement, i, &seats[i]);
        n_hosts = host[i] >= n_hosts ? host[i] + 1 : n_hosts;
    }
    struct host *hosts = xcalloc((size_t)n_hosts, sizeof *hosts);
    for (size_t i = 0; i < n; i++) {
        struct host *own = &hosts[host[i]];
        CPU_OR(&own->cores, &own->cores, &seats[i].cores);
        own->ranks++;
        own->shares += CPU_COUNT(&seats[i].cores);
    }
    note_binding(stream, seats, n, hosts, n_hosts);
    note_oversubscribed(stream, hosts, n_hosts);
    free(hosts);
}

int binding_processors(cpu_set_t *cpus)
{
    if (sched_getaffinity(0, sizeof *cpus, cpus) == 0)
        return CPU_COUNT(cpus);
    CPU_ZERO(cpus);
    return 0;
}
