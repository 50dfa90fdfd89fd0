/* Keeps what the links of a network hold while messages move (share/doc/MODELS.md, Whole run, Terms): a message adds
 * its bytes to each link of its route from its begin to its last byte, and comes later by delta times the most that one
 * of them held meanwhile. Without a topology there is one link for all, which holds what B7 makes of the bytes under
 * way. */
#ifndef MPISTAIR_PREDICTOR_RUN_LINKS_H
#define MPISTAIR_PREDICTOR_RUN_LINKS_H

#include "predictor/terms/topology.h"

/* Says since when a link held so much, until that changed. */
struct run_load {
    double since_s, bytes;
};

struct run_link {
    struct run_load now;
    uint32_t n_messages;
    struct run_load *peaks; /* [n_peaks] loads before, each larger than all behind it */
    size_t n_peaks, room;
};

struct run_links {
    double delta_s_per_byte; /* without a topology times 2 h^3 over the nodes */
    struct links routes;     /* none without a topology */
    struct run_link *links;  /* [n_links]; NULL: links do not count */
    size_t n_links;
};

/* Prepares for the nodes of a placement. Without a topology (NULL) bytes cross that many links of a cube in the mean.
 * Returns 0, or -1 with the reason: the machine has no delta, a node no place. run_links_release in either case. */
int run_links_init(struct run_links *links, const struct machine *machine, const struct topology *topology,
                   const struct placement *placement, const struct grouping *nodes, double cube_hops,
                   struct error *error);
void run_links_release(struct run_links *links);
/* Checks that there is a route from one node, a group, to another. Returns 0, or -1 with the reason. */
int run_links_check(struct run_links *links, uint32_t src, uint32_t dst, struct error *error);

/* Begins to move a message between two nodes. Times do not decrease. */
void run_links_begin(struct run_links *links, uint32_t src, uint32_t dst, double bytes, double now_s);
/* Ends it. Returns by how much it comes later. */
double run_links_end(struct run_links *links, uint32_t src, uint32_t dst, double bytes, double begun_s, double now_s);

#endif
