/* Writes the traffic of a run as a graph for Graphviz: a box a rank, in the clusters of its socket and its node, and an
 * edge a direction with bytes and messages, the wider the more bytes. What nobody could read is not drawn: where there
 * are many ranks a box stands for a socket, a node or several nodes, and only the heaviest edges are there; the graph's
 * label says so. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "report/export/dot_groups.h"
#include "share/base/array.h"
#include "share/base/output_file.h"

enum { MAX_EDGES = 400 };

struct edge {
    uint32_t from, to; /* groups */
    double bytes, messages;
};

struct graph {
    struct export *export;
    struct rank_groups groups;
    struct map edge_of;
    struct edge *edges; /* [n_edges] */
    size_t n_edges;
    double bytes, messages; /* of all */
};

static int add_traffic(struct graph *graph, struct cursor *rows)
{
    int64_t src = cursor_integer(rows, 0), dst = cursor_integer(rows, 1);
    size_t n = graph->export->selection.n_ranks;
    if (src < 0 || dst < 0 || (size_t)src >= n || (size_t)dst >= n)
        return error_set(graph->export->error, "%s: message_row: from rank %lld to %lld; the table process has %zu",
                         graph->export->path, (long long)src, (long long)dst, n);
    uint32_t from = graph->groups.of_rank[src], to = graph->groups.of_rank[dst];
    uint32_t *edge = map_at(&graph->edge_of, (struct map_key){from, to, 0});
    if (edge == NULL || (*edge == MAP_ABSENT && array_grow(&graph->edges, graph->n_edges, sizeof *graph->edges) != 0)) {
        cursor_no_memory(rows);
        return -1;
    }
    if (*edge == MAP_ABSENT) {
        *edge = (uint32_t)graph->n_edges;
        graph->edges[graph->n_edges++] = (struct edge){.from = from, .to = to};
    }
    double messages = cursor_real(rows, 2), bytes = cursor_real(rows, 3);
    graph->edges[*edge].messages += messages;
    graph->edges[*edge].bytes += bytes;
    graph->messages += messages;
    graph->bytes += bytes;
    return 0;
}

static int read_traffic(struct graph *graph)
{
    struct export *export = graph->export;
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT src, dst, count(*), total(bytes) FROM message_row"
                " WHERE kept(src, send_post_ns, send_post_ns + send_ns)"
                " AND kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_ns) GROUP BY src, dst",
                export->error);
    while (cursor_next(&rows))
        if (add_traffic(graph, &rows) != 0)
            rows.result = -1;
    return cursor_close(&rows);
}

static int heavier(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->messages != b->messages)
        return a->messages > b->messages ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Writes a text between quotes; '\n' in it ends a line. */
static void print_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text != '\0'; text++)
        if (*text == '\n')
            fputs("\\n", stream);
        else
            fprintf(stream, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', stream);
}

static void print_edges(const struct graph *graph, FILE *stream)
{
    size_t n = graph->n_edges < MAX_EDGES ? graph->n_edges : MAX_EDGES;
    double widest = graph->n_edges > 0 && graph->edges[0].bytes > 0 ? graph->edges[0].bytes : 1;
    for (size_t i = 0; i < n; i++) {
        const struct edge *edge = &graph->edges[i];
        fprintf(stream,
                "  g%" PRIu32 " -> g%" PRIu32
                " [label=\"%.1f kB\\n%.0f\", penwidth=%.2f, bytes=%.0f, messages=%.0f];\n",
                edge->from, edge->to, edge->bytes / 1e3, edge->messages, 0.5 + 4.5 * edge->bytes / widest, edge->bytes,
                edge->messages);
    }
}

static void print_label(const struct graph *graph, FILE *stream)
{
    double bytes = 0;
    char text[256];
    for (size_t i = MAX_EDGES; i < graph->n_edges; i++)
        bytes += graph->edges[i].bytes;
    snprintf(text, sizeof text, "%.0f messages, %.1f kB; an edge: bytes, messages%s", graph->messages,
             graph->bytes / 1e3, graph->groups.what);
    size_t length = strlen(text);
    if (graph->n_edges > MAX_EDGES)
        snprintf(text + length, sizeof text - length, "\n%zu lighter edges with %.1f kB are left out",
                 graph->n_edges - MAX_EDGES, bytes / 1e3);
    fputs("  label=", stream);
    print_quoted(stream, text);
    fputs(";\n", stream);
    if (graph->groups.what[0] != '\0' || graph->n_edges > MAX_EDGES)
        fprintf(stderr, "mpistair: note: of so many ranks the graph is a coarse one: %s\n", text);
}

static void print_groups(const struct graph *graph, FILE *stream)
{
    const struct rank_groups *groups = &graph->groups;
    const struct rank_group *last = NULL;
    for (size_t i = 0; i < groups->n; i++) {
        const struct rank_group *group = &groups->list[i];
        bool same_node = last != NULL && last->node == group->node,
             same_socket = same_node && last->socket == group->socket;
        if (last != NULL && groups->sockets && !same_socket)
            fputs("    }\n", stream);
        if (last != NULL && groups->nodes && !same_node)
            fputs("  }\n", stream);
        if (groups->nodes && !same_node) {
            fprintf(stream, "  subgraph cluster_node%zu {\n    label=", i);
            print_quoted(stream, group->host);
            fputs(";\n", stream);
        }
        if (groups->sockets && !same_socket)
            fprintf(stream, "    subgraph cluster_socket%zu {\n    label=\"socket %" PRId64 "\";\n", i, group->socket);
        fprintf(stream, "    g%zu [label=", i);
        print_quoted(stream, group->label);
        fputs("];\n", stream);
        last = group;
    }
    if (last != NULL && groups->sockets)
        fputs("    }\n", stream);
    if (last != NULL && groups->nodes)
        fputs("  }\n", stream);
}

static int write_graph(const struct graph *graph)
{
    struct output_file file;
    if (output_file_open(&file, graph->export->output, graph->export->error) != 0)
        return -1;
    fputs("digraph traffic {\n  node [shape=box, style=rounded];\n", file.stream);
    print_label(graph, file.stream);
    print_groups(graph, file.stream);
    print_edges(graph, file.stream);
    fputs("}\n", file.stream);
    return output_file_commit(&file, graph->export->error);
}

int export_dot(struct export *export)
{
    struct graph graph = {.export = export};
    int result = rank_groups_make(export, &graph.groups) != 0 || read_traffic(&graph) != 0 ? -1 : 0;
    if (result == 0) {
        if (graph.n_edges > 1)
            qsort(graph.edges, graph.n_edges, sizeof *graph.edges, heavier);
        result = write_graph(&graph);
    }
    free(graph.edges);
    map_release(&graph.edge_of);
    rank_groups_release(&graph.groups);
    return result;
}
