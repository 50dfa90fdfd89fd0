/* Finds which ranks share a bandwidth, and the pairs in which N of them exchange: the groups of Algorithm 1.
 *
 * A group is as large as the job has it (share/doc/MODELS.md, Words): one socket for intra_socket, two sockets of one
 * node for inter_socket, two nodes for inter_node. Its pairs are in one order, and N processes use the first of them;
 * they are chosen so that every N is like the whole:
 *   - On one socket each pair is of the domain (L3, NUMA node, package) that is furthest behind its share of the
 *     group's rank pairs, its ranks come from the caches least used so far, and the second is half of the candidates
 *     away: with one L3 and ranks 0 to 7 the pairs are 0-4, 1-5, 2-6, 3-7.
 *   - With two sides the ranks of each are dealt out over its sockets and caches in turn, and paired in that order. */
#ifndef MPISTAIR_CALIBRATE_GROUPS_H
#define MPISTAIR_CALIBRATE_GROUPS_H

#include <stddef.h>

#include "calibrate/measure/levels.h"

struct level_group {
    size_t n[2];   /* ranks of each side; n[1] = 0 for intra_socket */
    int *ranks[2]; /* [n[side]] ascending */
    size_t n_pairs;
    struct pair *pairs; /* [n_pairs] all ranks except those left over */
    char name[64];      /* as node0.socket1 */
};

/* Finds up to max_groups groups without a rank in common: first the largest, then on nodes that have none yet, and on
 * other sockets of them. Returns their number; the caller calls level_group_release for each. */
int level_groups_find(const struct placement *placement, enum level level, int max_groups, struct level_group *groups);
void level_group_release(struct level_group *group);

/* Finds a pair of a group of intra_socket, of that domain (DOMAIN_NONE: any). Returns false if it has none. */
bool level_group_pair(const struct placement *placement, const struct level_group *group, enum domain domain,
                      struct pair *pair);

#endif
