/* Forms groups, the ranks that share a bandwidth: one socket or one node (share/doc/MODELS.md, Words). */
#ifndef MPISTAIR_PREDICTOR_GROUP_H
#define MPISTAIR_PREDICTOR_GROUP_H

#include "predictor/pattern/pattern.h"

struct grouping {
    size_t n_groups;
    size_t *first;    /* [n_groups + 1] into member */
    uint32_t *member; /* [n_ranks] ranks, ascending within a group */
    uint32_t *of;     /* [n_ranks] the group of a rank */
    size_t largest;   /* how many ranks the largest group has */
};

enum group_by { GROUP_BY_SOCKET, GROUP_BY_NODE };

/* Groups the ranks. O(n_ranks log n_ranks). */
void grouping_init(struct grouping *grouping, const struct placement *placement, enum group_by by);
void grouping_release(struct grouping *grouping);

#endif
