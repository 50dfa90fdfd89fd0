/* In which pairs the ranks of a group exchange: groups.h says how they are chosen. */
#ifndef MPISTAIR_CALIBRATE_GROUP_PAIRS_H
#define MPISTAIR_CALIBRATE_GROUP_PAIRS_H

#include "calibrate/measure/place/groups.h"

/* Sets the pairs of a group whose ranks are set. 0, or -1 without memory. */
int group_pairs_make(const struct placement *placement, struct level_group *group);

#endif
