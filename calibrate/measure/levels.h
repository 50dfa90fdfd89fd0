/* Chooses which pairs of ranks stand for a level, and for what the pairs of a socket share, as pure functions of the
 * placement. */
#ifndef MPISTAIR_CALIBRATE_LEVELS_H
#define MPISTAIR_CALIBRATE_LEVELS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "calibrate/machine/machine.h"
#include "share/base/placement.h"

/* Two ranks. */
struct pair {
    int first;
    int second;
};

/* Returns the domain of two ranks of one socket: an L3 cache that both have, else a NUMA node, else the package. */
enum domain levels_domain(const struct placement *placement, int first, int second);

/* Counts the pairs of ranks that are on one socket, by domain: of all ranks, or of ranks[n] where ranks is not NULL. */
void levels_count_domains(const struct placement *placement, const int *ranks, size_t n,
                          uint64_t n_pairs[DOMAIN_COUNT]);

/* Counts them for all ranks, as benchmarks tell domains apart: where all pairs are of one, they count as DOMAIN_NONE.
 */
void levels_domains(const struct placement *placement, uint64_t n_pairs[DOMAIN_COUNT]);

/* Writes a note for mpistair calibrate where pairs of a socket differ: `domain intra_socket l3 12` for each domain. */
void levels_note_domains(FILE *stream, const struct placement *placement);

/* Finds up to max_pairs different pairs of the level, spread over the job: a socket (between nodes: a node) has a
 * second pair only when all have one, and a rank likewise; the partners lie at different distances, as neighbours may
 * share more than is known here. For intra_socket they are of the domain of which most rank pairs are. Returns their
 * number. */
size_t levels_pairs(const struct placement *placement, enum level level, size_t max_pairs, struct pair *pairs);

/* Finds them of one domain where the level is intra_socket; DOMAIN_NONE: of any. */
size_t levels_domain_pairs(const struct placement *placement, enum level level, enum domain domain, size_t max_pairs,
                           struct pair *pairs);

/* Returns the number of processes to measure behind n: doubled, the last one at the end, and one more behind that. */
size_t level_next_n(size_t n, size_t last);

/* Finds which ranks share a bandwidth, and the pairs in which N of them exchange: the groups of Algorithm 1.
 *
 * A group is as large as the job has it (share/doc/MODELS.md, Words): one socket for intra_socket, two sockets of one
 * node for inter_socket, two nodes for inter_node. Its pairs are in one order, and N processes use the first of them;
 * they are chosen so that every N is like the whole:
 *   - On one socket each pair is of the domain (L3, NUMA node, package) that is furthest behind its share of the
 *     group's rank pairs, its ranks come from the caches least used so far, and the second is half of the candidates
 *     away: with one L3 and ranks 0 to 7 the pairs are 0-4, 1-5, 2-6, 3-7.
 *   - With two sides the ranks of each are dealt out over its sockets and caches in turn, and paired in that order. */

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
