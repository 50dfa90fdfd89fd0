/* Regions that the program marks, by whichever way. */
#ifndef MPISTAIR_PRELOAD_REGIONS_H
#define MPISTAIR_PRELOAD_REGIONS_H

#include "interpose/preload/bind.h"

/* Returns where regions go now: to the backend that records, or before that to what remembers those that are open. */
const struct mpistair_region_calls *regions_now(void);

/* Begin and end a region that need not be the innermost one then, as start and stop of struct mpistair_region_calls;
 * the end may come behind the handing over. */
uint64_t regions_start(const char *name, unsigned way);
void regions_stop(uint64_t id);

/* Hands over to a backend: struct mpistair_host, begin_regions. */
void regions_begin(const struct mpistair_region_calls *calls);

#endif
