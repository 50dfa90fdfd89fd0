/* A table measured with bound ranks misleads a job whose ranks wander, so the table's source says in a few words how
 * its ranks were bound. */
#include "calibrate/measure/binding.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/mpi_job.h"
#include "share/base/memory.h"

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

/* Holds what the ranks of one host have together. */
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
