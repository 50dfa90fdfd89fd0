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

/* Finds them on one socket, of one domain; DOMAIN_NONE: of any. */
size_t levels_domain_pairs(const struct placement *placement, enum domain domain, size_t max_pairs, struct pair *pairs);

/* Returns the number of processes to measure behind n: doubled, the last one at the end, and one more behind that. */
size_t level_next_n(size_t n, size_t last);

#endif
