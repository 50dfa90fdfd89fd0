/* Describes a network between nodes, for the load of its links: a regular one by its parameters, or a list of routes.
 *
 * A *position* is where one node is attached; a *link* carries bytes in one direction between two routers. What joins a
 * node to its router is no link here: the models of a node's injection count it already. mpistair.5 describes the text
 * form (.topo). */
#ifndef MPISTAIR_PREDICTOR_TOPOLOGY_H
#define MPISTAIR_PREDICTOR_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"
#include "predictor/pattern/group.h"
#include "share/base/error.h"

enum topology_kind {
    TOPOLOGY_TORUS = 0,
    TOPOLOGY_MESH,
    TOPOLOGY_FAT_TREE,
    TOPOLOGY_DRAGONFLY,
    TOPOLOGY_LINKS,
    TOPOLOGY_TREE, /* switches with the names of their nodes; of Slurm's form only */
    TOPOLOGY_KIND_COUNT
};
/* Names the kinds as the files do. */
extern const char *const topology_kind_name[TOPOLOGY_KIND_COUNT];

/* TOPOLOGY_MAX_LEVELS limits the dimensions of a torus and the levels of a fat tree, TOPOLOGY_TREE_LEVELS the switches
 * from a node of a tree up. */
enum {
    TOPOLOGY_MAX_LEVELS = 8,
    TOPOLOGY_TREE_LEVELS = 32,
    TOPOLOGY_MAX_POSITIONS = 1 << 20,
    TOPOLOGY_MAX_LINKS = 1 << 24
};

/* Says where a node is attached. */
struct topology_place {
    uint32_t node;
    uint32_t position;
};

/* Describes the route of a pair in a list. */
struct topology_route {
    uint32_t src, dst; /* positions */
    size_t first;      /* into route_links */
    size_t n_links;
};

#define TOPOLOGY_TOP UINT32_MAX /* parent of a switch: none */

/* A switch of a tree. Its uplink is link 2k for number k, the way down is 2k + 1. */
struct topology_switch {
    char *name;
    uint32_t parent; /* number of the switch above, or TOPOLOGY_TOP */
    size_t line;     /* of the file */
};

/* A node of a tree by its name. */
struct topology_host {
    char *name;
    uint32_t leaf; /* number of its switch */
};

struct topology {
    char name[64];
    enum topology_kind kind;
    size_t n_levels;                       /* dimensions, or levels of switches */
    uint32_t size[TOPOLOGY_MAX_LEVELS];    /* torus, mesh: routers along a dimension; fat tree: children of a switch */
    uint32_t parents[TOPOLOGY_MAX_LEVELS]; /* fat tree: how many parents a node has, a switch of level 1, ... */
    uint32_t nodes_per_router;             /* torus, mesh, dragonfly */
    uint32_t groups;                       /* dragonfly */
    uint32_t routers;                      /* dragonfly: in a group */
    uint32_t global_links;                 /* dragonfly: at a router */
    uint32_t n_positions;
    size_t n_links;
    size_t longest;                /* links of the longest route */
    struct topology_route *routes; /* [n_routes] by (src, dst) */
    size_t n_routes;
    uint32_t *route_links;         /* [n_route_links] */
    struct topology_place *places; /* [n_places] by node; NULL: node k is at position k */
    size_t n_places;
    struct topology_switch *switches; /* [n_switches] of a tree */
    size_t n_switches;
    struct topology_host *hosts; /* [n_hosts] of a tree, by position */
    size_t n_hosts;
};

/* Reads a file of our form. Returns 0, or -1 with file:line and what was expected in error, the topology untouched. */
int topology_read(const char *path, struct topology *topology, struct error *error);
/* Computes n_positions, n_links and longest from a regular network's parameters. Returns 0, or -1 with what is wrong
 * with them. */
int topology_measure(struct topology *topology, struct error *error);
void topology_release(struct topology *topology);

/* Of a tree: places n nodes by the names of their hosts, nodes[i] that of hosts[i]; names that are the same up to the
 * first '.' are the same where no other is. Hosts that no switch has are left out: returns how many nodes were placed.
 * Without it node k is the k-th of the file. */
size_t topology_place_hosts(struct topology *topology, const uint32_t *nodes, const char *const *hosts, size_t n);

/* Describes a switch above a node: its number among those of its level, below which other nodes have the same. */
struct topology_above {
    const char *kind; /* "switch", "router", "group", "network" */
    const char *name; /* of a tree's switch; NULL: it has a number only */
    uint32_t number;
};
/* Writes the switches from the position up into above[TOPOLOGY_TREE_LEVELS]. Of networks without a tree these are its
 * router, perhaps its group, and the network. Returns their number; 0 for a list of routes, which names none. */
size_t topology_above(const struct topology *topology, uint32_t position,
                      struct topology_above above[TOPOLOGY_TREE_LEVELS]);

/* Sets the node's position and returns 0, or returns -1 where it has none. */
int topology_position(const struct topology *topology, uint32_t node, uint32_t *position);
/* Writes the links from one position to another into links[longest], each below n_links. Returns their number; -1 where
 * a list has no such route. */
long topology_route(const struct topology *topology, uint32_t src, uint32_t dst, uint32_t *links);

/* Reads what a byte on a link costs those that wait for it. Returns 0, or -1 where the machine has no delta. */
int links_delta(const struct machine *machine, double *delta_s_per_byte, struct error *error);

/* Holds links as the topology numbers them, and positions by group of nodes. */
struct links {
    const struct topology *topology; /* borrowed */
    uint32_t *position;              /* [n_groups] */
    uint32_t *route;                 /* [longest] links of the last route asked for */
};

/* Places all nodes of a grouping. Returns 0, or -1 where one has no place; links_release in either case. */
int links_init(struct links *links, const struct topology *topology, const struct placement *placement,
               const struct grouping *nodes, struct error *error);
void links_release(struct links *links);
/* Sets route between two groups. Returns the number of its links, or -1 where the topology has no such route. */
long links_route(struct links *links, uint32_t src, uint32_t dst, struct error *error);

/* Returns the edge of the smallest cube of routers for that many nodes, two a router. */
uint32_t cube_edge(size_t n_nodes);
/* Returns how many of its links bytes from one node to another cross. */
uint32_t cube_hops(uint32_t edge, uint32_t src, uint32_t dst);

#endif
