/* Writes what the kernel counted of each process (interpose/spool/counters.h): a row for the time between two samples;
 * and the same of the networks of each node. */
#include "interpose/trace/write/tables.h"

#include <stdlib.h>

#include "interpose/database/row.h"
#include "interpose/spool/counters.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/rows/sink.h"
#include "share/base/memory.h"

/* Returns the growth of a counter, TRACE_NO_TIME where it is not known. */
static int64_t counted(const struct spool_counter_sample *sample, enum spool_counter counter)
{
    uint64_t begin = sample[0].value[counter], end = sample[1].value[counter];
    bool known = begin != SPOOL_NOT_KNOWN && end != SPOOL_NOT_KNOWN && end - begin <= INT64_MAX >> 10;
    return known ? (int64_t)(end - begin) : TRACE_NO_TIME;
}

/* Returns the growth of a counter of the network; one that has shrunk is not known. */
static int64_t network_counted(const struct spool_network *network, uint32_t at, uint32_t interface,
                               enum spool_network_counter counter)
{
    uint64_t begin = network->samples[at].value[interface][counter];
    uint64_t end = network->samples[at + 1].value[interface][counter];
    bool known = begin != SPOOL_NOT_KNOWN && end != SPOOL_NOT_KNOWN && end >= begin && end - begin <= INT64_MAX >> 10;
    return known ? (int64_t)(end - begin) : TRACE_NO_TIME;
}

/* Writes what the first process of a node that has any has counted of the network. Returns whether it has any. */
static bool write_network(struct row *row, const struct trace *trace, const struct trace_process *process)
{
    static struct spool_network network;
    const struct trace_node *node = &trace->nodes[process->node];
    spool_network_read(process->spool, &network);
    for (uint32_t i = 0; i < network.n_interfaces; i++)
        for (uint32_t k = 0; k + 1 < network.n; k++)
            row_insert(
                row, "utiiooooo", process->node, network.names[i],
                clock_run_ns(node, (int64_t)network.samples[k].at_ns),
                clock_run_ns(node, (int64_t)network.samples[k + 1].at_ns),
                network_counted(&network, k, i, NETWORK_IN_BYTES), network_counted(&network, k, i, NETWORK_OUT_BYTES),
                network_counted(&network, k, i, NETWORK_PACKETS), network_counted(&network, k, i, NETWORK_ERRORS),
                network_counted(&network, k, i, NETWORK_RETRANSMISSIONS));
    return network.n > 1;
}

static int write_networks(const struct trace *trace, sqlite3 *database)
{
    struct row row = row_prepare(database, "network", 9);
    bool *has = xcalloc(trace->n_nodes, sizeof *has);
    for (int64_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        if (process->spool != NULL && process->node < trace->n_nodes && !has[process->node])
            has[process->node] = write_network(&row, trace, process);
    }
    free(has);
    return row_finish(&row);
}

int write_counters(const struct trace *trace, sqlite3 *database)
{
    static struct spool_counter_sample samples[SPOOL_COUNTER_SAMPLES];
    static const char *const perf[] = {NULL, "there", "forbidden", "none"};
    struct row row = row_prepare(database, "counter", 3 + COUNTERS),
               source = row_prepare(database, "counter_source", 2);
    for (int64_t rank = 0; rank < trace->world_size; rank++) {
        const struct trace_process *process = &trace->processes[rank];
        uint32_t known = 0;
        size_t n = process->spool == NULL ? 0 : spool_counters_read(process->spool, samples, &known);
        if (n > 0)
            row_insert(&source, "it", rank, perf[known]);
        bool has_openmp = n > 0 && samples[n - 1].value[COUNTER_OPENMP_THREAD_NS] > 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const struct spool_counter_sample *at = &samples[i];
            int64_t openmp_ns[3];
            for (int k = 0; k < 3; k++)
                openmp_ns[k] =
                    has_openmp ? counted(at, (enum spool_counter)(COUNTER_OPENMP_REGION_NS + k)) : TRACE_NO_TIME;
            row_insert(
                &row, "iiioooooooooooooo", rank, clock_run_ns(&trace->nodes[process->node], (int64_t)at[0].at_ns),
                clock_run_ns(&trace->nodes[process->node], (int64_t)at[1].at_ns), counted(at, COUNTER_USER_NS),
                counted(at, COUNTER_SYSTEM_NS), counted(at, COUNTER_WAIT_NS), counted(at, COUNTER_VOLUNTARY),
                counted(at, COUNTER_INVOLUNTARY), counted(at, COUNTER_MINOR_FAULTS), counted(at, COUNTER_MAJOR_FAULTS),
                counted(at, COUNTER_MIGRATIONS), counted(at, COUNTER_INSTRUCTIONS), counted(at, COUNTER_CYCLES),
                counted(at, COUNTER_CLOCK), openmp_ns[0], openmp_ns[1], openmp_ns[2]);
        }
    }
    return row_finish(&row) | row_finish(&source) | write_networks(trace, database);
}
