/* Runs the computing threads of the memory benchmark: each bound to its core, each storing over its own block of
 * memory, one iteration after the other. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_CREW_H
#define MPISTAIR_CALIBRATE_MEMORY_CREW_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

#include "calibrate/benchmark/memory/memory_steady.h"
#include "share/base/error.h"

struct crew_worker;

struct memory_crew {
    struct crew_worker *workers;          /* [n] */
    struct memory_iterations *iterations; /* [n] what each has done, once the crew is stopped */
    size_t n;
};

/* How blocks are written: `non-temporal`, or `memset` where the compiler knows no stores past the cache. */
extern const char crew_stores[];
/* Whether blocks must be much larger than the caches, since stores go through them. */
extern const bool crew_needs_large_blocks;

/* Binds the calling thread to one processor. Returns 0, or an errno. */
int memory_crew_bind(hwloc_topology_t topology, unsigned processor);
/* Starts n threads: threads[n] are the hardware threads to bind them to, blocks[n] what they write. Returns once each
 * has done an iteration: 0, or -1 with the reason, when none runs. */
int memory_crew_start(struct memory_crew *crew, hwloc_topology_t topology, size_t n, const unsigned *threads,
                      void *const *blocks, size_t block_bytes, struct error *error);
/* Ends the threads. Each does one more whole iteration before, which begins after this call. */
void memory_crew_stop(struct memory_crew *crew);
void memory_crew_release(struct memory_crew *crew);

#endif
