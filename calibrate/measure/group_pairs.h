/* Decides in which pairs the ranks of a group exchange: groups.h says how they are chosen. */
#ifndef MPISTAIR_CALIBRATE_GROUP_PAIRS_H
#define MPISTAIR_CALIBRATE_GROUP_PAIRS_H

#include "calibrate/measure/measure.h"

struct level_group {
    size_t n[2];   /* ranks of each side; n[1] = 0 for intra_socket */
    int *ranks[2]; /* [n[side]] ascending */
    size_t n_pairs;
    struct pair *pairs; /* [n_pairs] all ranks except those left over */
    char name[64];      /* as node0.socket1 */
};

/* Sets the pairs of a group whose ranks are set. */
void group_pairs_make(const struct placement *placement, struct level_group *group);

/* Finds a pair of a group of intra_socket, of that domain (DOMAIN_NONE: any). Returns false if it has none. */
bool level_group_pair(const struct placement *placement, const struct level_group *group, enum domain domain,
                      struct pair *pair);

#endif
