/* Makes the rows of memory contention from its samples: the ten parameters of D 3.1 (share/doc/MODELS.md, Memory
 * contention) for data on the socket that computes (level intra_socket) and on another one (inter_socket). */
#ifndef MPISTAIR_CALIBRATE_FIT_MEMORY_H
#define MPISTAIR_CALIBRATE_FIT_MEMORY_H

#include <stdio.h>

#include "calibrate/samples/memory_samples.h"
#include "calibrate/machine/machine.h"

/* Appends the rows of each side that was measured, with intervals and the method `memory` or `cpu-copy`, then cores and
 * numa_nodes; says on remarks (may be NULL) what the samples do not show, and
 * the interval of each loss. A side needs samples with both data on its
 * first NUMA node: of the message alone, of one core alone, and of every number of cores to the peak of the
 * computation, alone and together. Returns 0, or -1 with the reason in error, which names what was not measured; the
 * machine then may have some of the rows. */
int fit_memory(const struct memory_samples *samples, struct machine *machine, FILE *remarks, struct error *error);

#endif
