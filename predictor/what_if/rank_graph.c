/* Takes every message as two edges, sorted by their ends, and adds equal ones up. */
#include "predictor/what_if/rank_graph.h"

#include <stdlib.h>

/* Limits what all edges weigh together: Scotch adds them up in its own integer. */
#define WEIGHT_SUM 1e9

struct edge {
    uint32_t a, b;
    double bytes;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Gathers both directions of every message of a run as edges, sorted, equal ones added up; returns how many. */
static size_t gather_edges(const struct workload *workload, struct edge *edges)
{
    size_t n = 0, unique = 0;
    for (size_t k = 0; k < workload->n_kinds; k++) {
        const struct workload_kind *kind = &workload->kinds[k];
        for (size_t m = 0; m < kind->pattern.n_messages; m++) {
            uint32_t src = kind->world_rank[kind->pattern.src[m]], dst = kind->world_rank[kind->pattern.dst[m]];
            double bytes = (double)kind->pattern.bytes[m] * kind->weight;
            if (src == dst)
                continue;
            edges[n++] = (struct edge){src, dst, bytes};
            edges[n++] = (struct edge){dst, src, bytes};
        }
    }
    qsort(edges, n, sizeof *edges, compare_edges);
    for (size_t i = 0; i < n; i++)
        if (unique > 0 && edges[unique - 1].a == edges[i].a && edges[unique - 1].b == edges[i].b)
            edges[unique - 1].bytes += edges[i].bytes;
        else
            edges[unique++] = edges[i];
    return unique;
}

void rank_graph_release(struct rank_graph *graph)
{
    free(graph->first);
    free(graph->neighbour);
    free(graph->weight);
}

int rank_graph_init(struct rank_graph *graph, const struct workload *workload)
{
    struct edge *edges = malloc((2 * workload_messages(workload) + 1) * sizeof *edges);
    size_t n = edges != NULL ? gather_edges(workload, edges) : 0;
    *graph = (struct rank_graph){.first = calloc(workload->n_ranks + 1, sizeof *graph->first),
                                 .neighbour = malloc((n + 1) * sizeof *graph->neighbour),
                                 .weight = malloc((n + 1) * sizeof *graph->weight)};
    if (edges == NULL || graph->first == NULL || graph->neighbour == NULL || graph->weight == NULL) {
        free(edges);
        rank_graph_release(graph);
        return -1;
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += edges[i].bytes;
    for (size_t i = 0; i < n; i++) {
        graph->first[edges[i].a + 1]++;
        graph->neighbour[i] = edges[i].b;
        graph->weight[i] = 1 + (sum > 0 ? (int32_t)(edges[i].bytes / sum * WEIGHT_SUM) : 0);
    }
    for (size_t rank = 0; rank < workload->n_ranks; rank++)
        graph->first[rank + 1] += graph->first[rank];
    free(edges);
    return 0;
}
