/* Writes the traffic of a run as a graph for Graphviz: a box a rank, in the clusters of its socket and its node, and an
 * edge a direction with bytes and messages, the wider the more bytes. A graph must stay readable: where there are many
 * ranks a box stands for a socket, a node or several nodes, and only the heaviest edges are drawn; the graph's label
 * says so. SQL numbers the boxes by node, socket and rank, and adds up the messages between them. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/export/trace_export.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"

enum { MAX_BOXES = 64, MAX_EDGES = 400 };

/* What a box stands for. */
enum coarseness { BY_RANK, BY_SOCKET, BY_NODE, BY_NODES };

struct edge {
    int64_t from, to; /* boxes */
    double messages, bytes;
};

struct graph {
    struct export *export;
    enum coarseness coarseness;
    struct edge *edges; /* [n_edges], the heaviest first */
    size_t n_edges;
};

#define PLACES                                                                                                         \
    "WITH place AS (SELECT rank, coalesce(node, -1) AS node, coalesce(socket, -1) AS socket, host FROM process"        \
    " LEFT JOIN node ON node.id = process.node WHERE kept(rank)) "

static const char make_boxes_sql[] =
    "DROP TABLE IF EXISTS temp.export_box;"
    "CREATE TEMP TABLE export_box(rank INTEGER PRIMARY KEY, node, socket, host, box);" PLACES
    "INSERT INTO temp.export_box SELECT rank, node, socket, host,"
    " dense_rank() OVER (ORDER BY nth / %zu, iif(%d, socket, 0), iif(%d, rank, 0)) - 1"
    " FROM (SELECT *, dense_rank() OVER (ORDER BY node) - 1 AS nth FROM place)";

/* Gives each wanted rank its box, the finest ones of which there are not more than MAX_BOXES. */
static int make_boxes(struct graph *graph)
{
    struct export *export = graph->export;
    struct cursor rows;
    int64_t nodes = 1;
    export_query(export, &rows,
                 PLACES "SELECT count(*), count(DISTINCT node || ' ' || socket), count(DISTINCT node) FROM place");
    if (cursor_next(&rows)) {
        while (graph->coarseness < BY_NODES && cursor_integer(&rows, (int)graph->coarseness) > MAX_BOXES)
            graph->coarseness++;
        nodes = cursor_integer(&rows, 2);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    size_t stretch = graph->coarseness == BY_NODES ? ((size_t)nodes + MAX_BOXES - 1) / MAX_BOXES : 1;
    char *sql = xasprintf(make_boxes_sql, stretch, graph->coarseness <= BY_SOCKET, graph->coarseness == BY_RANK);
    int result = export_run(export, sql);
    free(sql);
    return result;
}

static int read_edges(struct graph *graph)
{
    struct export *export = graph->export;
    struct cursor rows;
    export_query(export, &rows,
                 "SELECT a.box, b.box, sum(n) AS messages, total(bytes) AS bytes, src, dst FROM"
                 " (SELECT src, dst, count(*) AS n, total(bytes) AS bytes FROM message_row"
                 "  WHERE " MESSAGE_IS_KEPT " GROUP BY src, dst)"
                 " LEFT JOIN temp.export_box a ON a.rank = src LEFT JOIN temp.export_box b ON b.rank = dst"
                 " GROUP BY 1, 2 ORDER BY 4 DESC, 3 DESC, 1, 2");
    while (cursor_next(&rows)) {
        if (sqlite3_column_type(rows.statement, 0) == SQLITE_NULL ||
            sqlite3_column_type(rows.statement, 1) == SQLITE_NULL)
            rows.result = error_set(export->error, "%s: message_row: from rank %lld to %lld; the table process has %zu",
                                    export->path, (long long)cursor_integer(&rows, 4),
                                    (long long)cursor_integer(&rows, 5), export->selection.n_ranks);
        ARRAY_ADD(graph->edges, graph->n_edges,
                  (struct edge){cursor_integer(&rows, 0), cursor_integer(&rows, 1), cursor_real(&rows, 2),
                                cursor_real(&rows, 3)});
    }
    return cursor_close(&rows);
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
    double widest = graph->n_edges > 0 && graph->edges[0].bytes > 0 ? graph->edges[0].bytes : 1;
    for (size_t i = 0; i < graph->n_edges && i < MAX_EDGES; i++) {
        const struct edge *edge = &graph->edges[i];
        fprintf(stream,
                "  g%" PRId64 " -> g%" PRId64
                " [label=\"%.1f kB\\n%.0f\", penwidth=%.2f, bytes=%.0f, messages=%.0f];\n",
                edge->from, edge->to, edge->bytes / 1e3, edge->messages, 0.5 + 4.5 * edge->bytes / widest, edge->bytes,
                edge->messages);
    }
}

static void print_label(const struct graph *graph, FILE *stream)
{
    static const char *const what[] = {"", "; a box is a socket", "; a box is a node", "; a box is several nodes"};
    double messages = 0, bytes = 0, left_out_bytes = 0;
    char text[256];
    for (size_t i = 0; i < graph->n_edges; i++) {
        messages += graph->edges[i].messages;
        bytes += graph->edges[i].bytes;
        left_out_bytes += i >= MAX_EDGES ? graph->edges[i].bytes : 0;
    }
    int length = snprintf(text, sizeof text, "%.0f messages, %.1f kB; an edge: bytes, messages%s", messages,
                          bytes / 1e3, what[graph->coarseness]);
    if (graph->n_edges > MAX_EDGES)
        snprintf(text + length, sizeof text - (size_t)length, "\n%zu lighter edges with %.1f kB are left out",
                 graph->n_edges - MAX_EDGES, left_out_bytes / 1e3);
    fputs("  label=", stream);
    print_quoted(stream, text);
    fputs(";\n", stream);
    if (graph->coarseness != BY_RANK || graph->n_edges > MAX_EDGES)
        fprintf(stderr, "mpistair: note: with so many ranks the graph is coarse: %s\n", text);
}

/* Writes the label of a box, of which that is the first rank. */
static void print_box(const struct graph *graph, FILE *stream, const char *host, int64_t socket, int64_t ranks,
                      int64_t rank)
{
    char *label = graph->coarseness == BY_RANK ? xasprintf("rank %" PRId64, rank)
                  : graph->coarseness == BY_SOCKET && socket >= 0
                      ? xasprintf("socket %" PRId64 "\n%" PRId64 " ranks", socket, ranks)
                      : xasprintf("%s%s\n%" PRId64 " ranks", host, graph->coarseness == BY_NODES ? " ..." : "", ranks);
    print_quoted(stream, label);
    free(label);
}

static int print_boxes(const struct graph *graph, FILE *stream)
{
    bool nodes = graph->coarseness <= BY_SOCKET, sockets = graph->coarseness == BY_RANK;
    int64_t last_node = 0, last_socket = 0;
    struct pool pool = {0};
    struct cursor rows;
    size_t n = 0;
    export_query(graph->export, &rows,
                 "SELECT min(node), socket, coalesce(host, 'node not known'), count(*), rank FROM temp.export_box"
                 " GROUP BY box ORDER BY box");
    for (; cursor_next(&rows); n++) {
        int64_t node = cursor_integer(&rows, 0), socket = cursor_integer(&rows, 1);
        const char *host = cursor_text(&rows, 2, &pool);
        bool same_node = n > 0 && last_node == node, same_socket = same_node && last_socket == socket;
        if (n > 0 && sockets && !same_socket)
            fputs("    }\n", stream);
        if (n > 0 && nodes && !same_node)
            fputs("  }\n", stream);
        if (nodes && !same_node) {
            fprintf(stream, "  subgraph cluster_node%zu {\n    label=", n);
            print_quoted(stream, host);
            fputs(";\n", stream);
        }
        if (sockets && !same_socket)
            fprintf(stream, "    subgraph cluster_socket%zu {\n    label=\"socket %" PRId64 "\";\n", n, socket);
        fprintf(stream, "    g%zu [label=", n);
        print_box(graph, stream, host, socket, cursor_integer(&rows, 3), cursor_integer(&rows, 4));
        fputs("];\n", stream);
        last_node = node;
        last_socket = socket;
    }
    fputs(n > 0 && sockets ? "    }\n" : "", stream);
    fputs(n > 0 && nodes ? "  }\n" : "", stream);
    pool_release(&pool);
    return cursor_close(&rows);
}

int export_dot(struct export *export)
{
    struct graph graph = {.export = export};
    struct output_file file;
    int result = make_boxes(&graph) != 0 || read_edges(&graph) != 0 ||
                         output_file_open(&file, export->output, export->error) != 0
                     ? -1
                     : 0;
    if (result == 0) {
        fputs("digraph traffic {\n  node [shape=box, style=rounded];\n", file.stream);
        print_label(&graph, file.stream);
        result = print_boxes(&graph, file.stream);
        print_edges(&graph, file.stream);
        fputs("}\n", file.stream);
        result = output_file_end(&file, result, export->error);
    }
    free(graph.edges);
    return result;
}
