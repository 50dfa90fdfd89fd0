/* Divides the members of a collective by nodes, which MPICH's algorithms go by. */
#include <stdlib.h>
#include <string.h>

#include "predictor/run/run_script.h"

#define NONE UINT32_MAX

/* Numbers the nodes by their first members: number[node], of those that have any. */
static void number_nodes(struct script_nodes *nodes, const struct run_member *members, uint32_t n,
                         const uint32_t *node_of, uint32_t *number)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *node = &number[node_of[members[i].rank]];
        if (*node == NONE)
            *node = nodes->n_nodes++;
        nodes->node_of[i] = *node;
        nodes->place[i] = nodes->first[*node + 1]++;
    }
    for (uint32_t i = 0; i < nodes->n_nodes; i++)
        nodes->first[i + 1] += nodes->first[i];
    for (uint32_t i = 0; i < n; i++)
        nodes->by_node[nodes->first[nodes->node_of[i]] + nodes->place[i]] = i;
}

struct script_nodes *script_nodes_new(const struct run_member *members, uint32_t n, const uint32_t *node_of,
                                      size_t n_nodes)
{
    size_t count = 4 * (size_t)n + 1;
    struct script_nodes *nodes = malloc(sizeof *nodes + count * sizeof(uint32_t));
    uint32_t *number = malloc((n_nodes + 1) * sizeof *number);
    if (nodes == NULL || number == NULL) {
        free(nodes);
        free(number);
        return NULL;
    }
    uint32_t *array = (uint32_t *)(nodes + 1);
    memset(array, 0, count * sizeof *array);
    memset(number, 0xff, (n_nodes + 1) * sizeof *number);
    *nodes = (struct script_nodes){
        .node_of = array, .place = array + n, .by_node = array + 2 * (size_t)n, .first = array + 3 * (size_t)n};
    number_nodes(nodes, members, n, node_of, number);
    free(number);
    return nodes;
}
