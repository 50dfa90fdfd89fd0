/* Collects what messages say of the clocks of two nodes: no receive completes before its send starts. */
#ifndef MPISTAIR_TRACE_CLOCK_EDGES_H
#define MPISTAIR_TRACE_CLOCK_EDGES_H

#include "interpose/trace/state/trace.h"
#include "share/base/map.h"

/* States what the messages from one node to another say: offset(to) - offset(from) >= at_least. */
struct clock_edge {
    uint32_t from;
    uint32_t to;
    int64_t at_least_ns;
};

/* Begins zero-initialised. */
struct clock_edges {
    struct clock_edge *edges;
    size_t n;
    struct map index;
    int64_t first_ns, last_ns; /* posts of the first and last send; both 0 without an edge */
};

/* Keeps the strongest constraint of each ordered pair of nodes under the present offsets; takes one more message. For
 * stream_messages, with a struct clock_edges as the context. */
void clock_edges_add(void *edges, const struct trace *trace, const struct trace_operation *send,
                     const struct trace_operation *receive);
/* Sorts by from, then to: where constraints contradict each other the order decides, and must not depend on how they
 * were read. */
void clock_edges_sort(struct clock_edges *edges);
/* Frees what it holds; it is empty again. */
void clock_edges_release(struct clock_edges *edges);

#endif
