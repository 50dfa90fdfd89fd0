/* Says which links of a network bytes between two nodes cross: of a topology, or of B's cube where none is known
 * (share/doc/MODELS.md, Network contention). +contention of a round and of a whole run share it. */
#ifndef MPISTAIR_PREDICTOR_LINKS_H
#define MPISTAIR_PREDICTOR_LINKS_H

#include "calibrate/machine/machine.h"
#include "predictor/pattern/group.h"
#include "predictor/terms/topology.h"

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
