/* Writes the traffic of a run as a graph for Graphviz: a box a rank, in the clusters of its socket and its node, and an
 * edge a direction with bytes and messages, the wider the more bytes. A graph must stay readable: where there are many
 * ranks a box stands for a socket, a node or several nodes, and only the heaviest edges are drawn; the graph's label
 * says so. The ranks come sorted by place, so that those of one box stand behind each other. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "report/export/trace_export.h"
#include "share/base/array.h"
#include "share/base/map.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/output_file.h"

enum { MAX_GROUPS = 64, MAX_EDGES = 400 };

struct rank_group {
    int64_t node, socket; /* of its first rank; -1: not known */
    const char *host;
    uint32_t n_ranks, first_rank;
    char *label;
};

struct rank_groups {
    struct rank_group *list; /* [n] by node and socket */
    size_t n;
    uint32_t *of_rank;   /* [n_ranks] */
    bool nodes, sockets; /* groups of one node, one socket stand together */
    const char *what;    /* ", a box: a socket", or "" where a box is a rank */
    struct pool pool;
};

enum coarseness { BY_RANK, BY_SOCKET, BY_NODE, BY_NODES };

struct placed_rank {
    uint32_t rank;
    int64_t node, socket; /* -1: not known */
    size_t nth_node;
    const char *host;
};

struct placed_ranks {
    struct placed_rank *list; /* [n] */
    size_t n, n_nodes;
};

static int dot_read_places(struct export *export, struct rank_groups *groups, struct placed_ranks *ranks)
{
    struct cursor rows;
    cursor_open(&rows, export->database, export->path,
                "SELECT rank, coalesce(node, -1), coalesce(socket, -1), coalesce(host, 'node not known') FROM process"
                " LEFT JOIN node ON node.id = process.node ORDER BY 2, 3, 1",
                export->error);
    while (cursor_next(&rows)) {
        struct placed_rank placed = {.rank = (uint32_t)cursor_integer(&rows, 0),
                                     .node = cursor_integer(&rows, 1),
                                     .socket = cursor_integer(&rows, 2)};
        const struct placed_rank *last = ranks->n > 0 ? &ranks->list[ranks->n - 1] : NULL;
        if (!export->selection.wanted[placed.rank])
            continue;
        bool same_node = last != NULL && last->node == placed.node;
        placed.host = same_node ? last->host : cursor_text(&rows, 3, &groups->pool);
        ranks->n_nodes += !same_node;
        placed.nth_node = ranks->n_nodes - 1;
        array_grow(&ranks->list, ranks->n, sizeof placed);
        ranks->list[ranks->n++] = placed;
    }
    return cursor_close(&rows);
}

/* Returns whether two neighbours are in one group. */
static bool together(const struct placed_ranks *ranks, const struct placed_rank *a, const struct placed_rank *b,
                     enum coarseness coarseness)
{
    size_t stretch = (ranks->n_nodes + MAX_GROUPS - 1) / MAX_GROUPS;
    switch (coarseness) {
    case BY_RANK:
        return false;
    case BY_SOCKET:
        return a->node == b->node && a->socket == b->socket;
    case BY_NODE:
        return a->node == b->node;
    default:
        return a->nth_node / stretch == b->nth_node / stretch;
    }
}

static size_t count_groups(const struct placed_ranks *ranks, enum coarseness coarseness)
{
    size_t n = ranks->n > 0;
    for (size_t i = 1; i < ranks->n; i++)
        n += !together(ranks, &ranks->list[i - 1], &ranks->list[i], coarseness);
    return n;
}

static char *group_label(const struct rank_group *group, enum coarseness coarseness)
{
    if (coarseness == BY_RANK)
        return xasprintf("rank %" PRIu32, group->first_rank);
    if (coarseness == BY_SOCKET && group->socket >= 0)
        return xasprintf("socket %" PRId64 "\n%" PRIu32 " ranks", group->socket, group->n_ranks);
    return xasprintf("%s%s\n%" PRIu32 " ranks", group->host, coarseness == BY_NODES ? " ..." : "", group->n_ranks);
}

/* Makes a group of each wanted rank, or where these are more than MAX_GROUPS of each socket, each node, or several
 * nodes. Returns 0, or -1 with the reason; rank_groups_release in either case. */
static int rank_groups_make(struct export *export, struct rank_groups *groups)
{
    static const char *const what[] = {"", "; a box is a socket", "; a box is a node", "; a box is several nodes"};
    struct placed_ranks ranks = {0};
    enum coarseness coarseness = BY_RANK;
    int result = dot_read_places(export, groups, &ranks);
    while (coarseness < BY_NODES && count_groups(&ranks, coarseness) > MAX_GROUPS)
        coarseness++;
    groups->of_rank = xcalloc(export->selection.n_ranks, sizeof *groups->of_rank);
    groups->list = xcalloc(count_groups(&ranks, coarseness), sizeof *groups->list);
    for (size_t i = 0; i < ranks.n; i++) {
        const struct placed_rank *rank = &ranks.list[i];
        if (i == 0 || !together(&ranks, rank - 1, rank, coarseness))
            groups->list[groups->n++] = (struct rank_group){
                .node = rank->node, .socket = rank->socket, .host = rank->host, .first_rank = rank->rank};
        groups->list[groups->n - 1].n_ranks++;
        groups->of_rank[rank->rank] = (uint32_t)groups->n - 1;
    }
    for (size_t i = 0; i < groups->n; i++)
        groups->list[i].label = group_label(&groups->list[i], coarseness);
    groups->nodes = coarseness <= BY_SOCKET;
    groups->sockets = coarseness == BY_RANK;
    groups->what = what[coarseness];
    free(ranks.list);
    return result;
}

static void rank_groups_release(struct rank_groups *groups)
{
    for (size_t i = 0; i < groups->n; i++)
        free(groups->list[i].label);
    free(groups->list);
    free(groups->of_rank);
    pool_release(&groups->pool);
}

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
    if (*edge == MAP_ABSENT) {
        array_grow(&graph->edges, graph->n_edges, sizeof *graph->edges);
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
    return ORDER(b->bytes, a->bytes) ?: ORDER(b->messages, a->messages) ?: ORDER(a->from, b->from) ?: ORDER(a->to, b->to);
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
        fprintf(stderr, "mpistair: note: with so many ranks the graph is coarse: %s\n", text);
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
