/* Makes patterns by rule, for trying a machine and the models without an application: `mpistair pattern` writes them.
 *
 * Everything follows from the request: the same request gives the same pattern, on every machine. */
#ifndef MPISTAIR_PREDICTOR_PATTERN_MAKE_H
#define MPISTAIR_PREDICTOR_PATTERN_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/pattern/pattern.h"

/* Says how consecutive ranks are placed: one socket is filled after the other; the sockets of a node take turns; the
 * nodes do. */
enum placement_order { ORDER_BLOCK, ORDER_SOCKET, ORDER_NODE };

struct pattern_request {
    size_t n_ranks;
    uint32_t n_nodes;
    uint32_t n_sockets; /* on each node */
    uint32_t n_cores;   /* on each socket; n_ranks <= n_nodes * n_sockets * n_cores */
    enum placement_order order;
    uint64_t seed;
    uint64_t least_bytes;
    uint64_t most_bytes; /* least_bytes for kinds of one size */
    uint32_t degree;     /* irregular: most messages that a rank sends */
    /* The rest describes a mesh. */
    uint64_t n_cells;
    uint64_t cell_bytes; /* sent for a cell */
    uint32_t layers;     /* layers of foreign cells that a rank needs around its own */
    uint64_t n_far;      /* pairs of cells anywhere that are joined */
    uint64_t far_bytes;  /* sent each way for such a pair */
    double spread;       /* standard deviation of the logarithm of a cell's permeability */
};

struct pattern_kind {
    const char *name;
    const char *summary;
    uint64_t least_bytes; /* default */
    uint64_t most_bytes;  /* default; 0: the kind takes one size */
    /* Appends to an empty pattern. Returns 0, or -1 with the reason; the caller checks whether the pattern is full, and
     * releases it either way. */
    int (*make)(const struct pattern_request *request, const struct placement *placement, struct pattern *pattern,
                struct error *error);
};

/* Lists all kinds; a name NULL ends it. */
extern const struct pattern_kind pattern_kinds[];

/* Makes the places of the request's ranks. */
void placement_make(const struct pattern_request *request, struct placement *placement);
/* Is a pattern_kind.make (pattern_mesh.c). */
int pattern_make_mesh(const struct pattern_request *request, const struct placement *placement, struct pattern *pattern,
                      struct error *error);

#endif
