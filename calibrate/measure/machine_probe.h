/* Probes the machine (probing.h) by messages of ranks to themselves, on ranks that have a processor each. */
#ifndef MPISTAIR_CALIBRATE_MACHINE_PROBE_H
#define MPISTAIR_CALIBRATE_MACHINE_PROBE_H

#include <stdbool.h>

#include "calibrate/measure/measure.h"
#include "calibrate/samples/probing.h"

/* Chooses which ranks are probed. Collective. They are at most PROBE_RANKS_MAX of the job, spread over it, and on a
 * machine not more than it has processors. */
enum { PROBE_RANKS_MAX = 64 };
void probe_prepare(struct measure *measure);

/* Is called on rank 0, as the next function. Probes, judges the time since the last probe and writes its line, except
 * for the first one, which begins the first epoch. Returns what that time was like. */
enum probing_verdict probe_take(struct measure *measure);
/* Says whether the last probe is more than a second old. */
bool probe_is_due(const struct measure *measure);

#endif
