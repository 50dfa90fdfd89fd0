/* What would be: the ranks of a run put anew onto the places (node, socket) that they have together, and a machine
 * whose MPI has another eager threshold, or whose network another latency or bandwidth. */
#ifndef MPISTAIR_PREDICTOR_ARRANGE_H
#define MPISTAIR_PREDICTOR_ARRANGE_H

#include "calibrate/machine/machine.h"
#include "predictor/pattern/pattern.h"

enum arrangement { ARRANGE_FILL, ARRANGE_ROUND_ROBIN_NODES, ARRANGE_ROUND_ROBIN_SOCKETS, ARRANGE_COUNT };

/* Names the rules, which are Open MPI's --map-by core, node and socket where all nodes are alike:
 *
 *   fill                  nodes in ascending order, in each one socket after the other
 *   round-robin-nodes     one rank to each node in turn, within it as fill
 *   round-robin-sockets   nodes one after the other, in each one rank to each socket in turn
 */
extern const char *const arrangement_name[ARRANGE_COUNT];

/* Fills arranged, a placement of slots->n_ranks from placement_init. */
void placement_arrange(const struct placement *slots, enum arrangement arrangement, struct placement *arranged);
/* Copies all ranks' places; both have the same number of ranks. */
void placement_copy(struct placement *to, const struct placement *from);
/* Copies the place of one rank. */
void placement_copy_rank(struct placement *to, size_t to_rank, const struct placement *from, size_t from_rank);
/* Exchanges the places of two ranks. */
void placement_exchange(struct placement *placement, size_t a, size_t b);
/* Says whether two ranks have the same node and socket. */
bool placement_same(const struct placement *placement, size_t a, size_t b);
/* Returns how many ranks differ in node or socket. */
size_t placement_moved(const struct placement *a, const struct placement *b);

/* Sends messages of that many bytes and more by rendezvous, at every level whose protocols the machine tells apart.
 * Returns 0, or -1 with the reason and the machine unchanged: it tells them apart nowhere, or it has a short protocol
 * above that. */
int machine_set_eager_threshold(struct machine *machine, uint64_t bytes, struct error *error);
/* Adds a delay to the network between nodes, one way, and divides its bandwidth. A rendezvous crosses it three times.
 */
void machine_change_network(struct machine *machine, double added_s, double slower);

#endif
