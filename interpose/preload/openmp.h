/* What OpenMP's runtime tells of its threads, where it has OMPT: sums since the begin of the recording. */
#ifndef MPISTAIR_PRELOAD_OPENMP_H
#define MPISTAIR_PRELOAD_OPENMP_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/preload/bind.h"

/* Lets parallel regions that begin from now on count, or no more. */
void openmp_count(bool on);

/* Fills in what was counted so far, with regions that go on; all zero without parallel regions, or without OMPT. It may
 * be less than before by what ends meanwhile. Any thread may call it. */
void openmp_read(uint64_t sums[OPENMP_SUMS]);

#endif
