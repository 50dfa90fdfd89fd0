/* Which ranks stand for a level: pairs for the ping-pong, groups for Algorithm 1. */
#ifndef MPISTAIR_CALIBRATE_LEVELS_H
#define MPISTAIR_CALIBRATE_LEVELS_H

#include <stddef.h>

#include "measure.h"

/* Up to max_pairs different pairs of the level, their first ranks spread over the job. Returns their number. */
size_t levels_pairs(const struct placement *placement, enum machine_level level, size_t max_pairs, struct pair *pairs);

/* The ranks that share a bandwidth, as large as the job has them (MODELS.md, Words): side 0 on one socket for
 * intra_socket; two sockets of one node for inter_socket; two nodes for inter_node. Ascending ranks. */
struct level_group {
    size_t n[2]; /* n[1] = 0 for intra_socket */
    int *ranks[2];
    char name[64]; /* as node0.socket1 */
};

/* 0, or -1 without memory; n[0] = 0 where the job does not span the level. For level_group_release. */
int level_group_find(const struct placement *placement, enum machine_level level, struct level_group *group);
void level_group_release(struct level_group *group);

#endif
