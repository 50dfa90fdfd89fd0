/* Holds one edge for each ordered pair of nodes, the strongest, however many messages there are. See clock_edges.h. */
#include "interpose/trace/clock/clock_edges.h"

#include <stdlib.h>

#include "share/base/array.h"

void clock_edges_add(void *context, const struct trace *trace, const struct trace_operation *send,
                     const struct trace_operation *receive)
{
    struct clock_edges *edges = context;
    uint32_t from = trace->processes[send->rank].node, to = trace->processes[receive->rank].node;
    if (from == to || receive->complete_ns == TRACE_NO_TIME)
        return;
    int64_t at_least = send->post_ns - receive->complete_ns;
    uint32_t *index = map_at(&edges->index, (struct map_key){from, to, 0});
    edges->first_ns = edges->n == 0 || send->post_ns < edges->first_ns ? send->post_ns : edges->first_ns;
    edges->last_ns = edges->n == 0 || send->post_ns > edges->last_ns ? send->post_ns : edges->last_ns;
    if (*index == MAP_ABSENT) {
        array_grow(&edges->edges, edges->n, sizeof *edges->edges);
        *index = (uint32_t)edges->n;
        edges->edges[edges->n++] = (struct clock_edge){from, to, at_least};
    } else if (edges->edges[*index].at_least_ns < at_least) {
        edges->edges[*index].at_least_ns = at_least;
    }
}

static int compare(const void *left, const void *right)
{
    const struct clock_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

void clock_edges_sort(struct clock_edges *edges)
{
    if (edges->n > 1)
        qsort(edges->edges, edges->n, sizeof *edges->edges, compare);
}

void clock_edges_release(struct clock_edges *edges)
{
    map_release(&edges->index);
    free(edges->edges);
    *edges = (struct clock_edges){0};
}
