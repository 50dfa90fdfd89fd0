/* Writes which switches are above each node. A launcher that hands on its own environment, as mpiexec does, gives all
 * ranks the address of the node where it runs: an address that several nodes have is none of theirs. */
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "interpose/trace/write/tables.h"
#include "share/base/array.h"
#include "share/base/error.h"
#include "share/base/memory.h"
#include "share/base/order.h"

struct node_address {
    const char *address; /* borrowed from a spool */
    uint32_t n_switches, node;
};

static int compare_addresses(const void *a, const void *b)
{
    const struct node_address *x = a, *y = b;
    return strcmp(x->address, y->address) ?: ORDER(x->node, y->node);
}

/* Collects the address of each node, that of its lowest rank with one, in the order of the addresses. Returns how many
 * there are. */
static size_t collect_addresses(const struct trace *trace, struct node_address **addresses)
{
    bool *seen = xcalloc(trace->n_nodes, sizeof *seen);
    size_t n = 0;
    *addresses = NULL;
    for (int32_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        const struct spool_header *header = process->spool != NULL ? &process->spool->header : NULL;
        if (header == NULL || process->by_hand || seen[process->node] || header->address[0] == '\0' ||
            memchr(header->address, '\0', sizeof header->address) == NULL)
            continue;
        seen[process->node] = true;
        array_grow(addresses, n, sizeof **addresses);
        (*addresses)[n++] = (struct node_address){header->address, header->n_switches, process->placed};
    }
    free(seen);
    if (n > 0)
        qsort(*addresses, n, sizeof **addresses, compare_addresses);
    return n;
}

/* Writes the switches of "top.s1.node", from the last one up. */
static void insert_switches(struct row *row, const struct node_address *one)
{
    char *text = xstrdup(one->address), *end = text;
    uint32_t n = 0;
    for (; n < one->n_switches && (end = strchr(end, '.')) != NULL; n++)
        *end++ = '\0';
    char *name = text;
    for (uint32_t i = 0; i < n; i++, name += strlen(name) + 1)
        if (name[0] != '\0')
            row_insert(row, "iit", (int64_t)one->node, (int64_t)(n - i), name);
    free(text);
}

int write_switches(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "node_switch", 3);
    struct node_address *addresses;
    size_t n = collect_addresses(trace, &addresses), n_alike = 0;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && strcmp(addresses[end].address, addresses[first].address) == 0;)
            end++;
        if (end - first == 1)
            insert_switches(&row, &addresses[first]);
        else
            n_alike += end - first;
    }
    if (n_alike > 0)
        inform(
            "%zu nodes have a SLURM_TOPOLOGY_ADDR that others have, too: it was handed on by the launcher, and is not "
            "taken; 'mpistair report --topology topology.conf' tells switches apart",
            n_alike);
    free(addresses);
    return row_finish(&row);
}
