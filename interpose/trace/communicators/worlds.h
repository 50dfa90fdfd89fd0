/* Finds the MPI_COMM_WORLDs that belong to one job: they were spawned, or connected by MPI_Comm_accept, _connect or
 * _join. Each was recorded as a run with a key of its own. */
#ifndef MPISTAIR_TRACE_WORLDS_H
#define MPISTAIR_TRACE_WORLDS_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"
#include "share/base/map.h"
#include "interpose/spool/reader.h"

struct world {
    char key[sizeof((struct spool_header){0}.run_key)];
    size_t begin; /* position of its first spool among all, which are sorted by key, then rank */
    size_t end;
    int32_t size;
    int32_t first; /* rank in the run of its rank 0 */
    uint64_t started_unix_ns;
    uint32_t group; /* worlds of one group are joined */
};

/* Value in worlds.links of a call with several possible worlds on the other side. */
#define WORLDS_AMBIGUOUS (MAP_ABSENT - 1)

struct worlds {
    struct world *worlds; /* [n_worlds] of the run, as they started; freed by worlds_release */
    size_t n_worlds;
    /* Maps (rank in the run, index of a communicator in that process) to the number of the call by which two worlds
     * met; the communicators on both sides have the same number. */
    struct map links;
    uint32_t n_links;
};

/* Chooses among the spools, which are sorted by key and rank, the worlds of one run: the one with the key run_key
 * (NULL: there must be one run), and all that were joined to it. Gives them their first ranks. Returns 0, or -1 with
 * the reason. */
int worlds_choose(const struct spool *spools, size_t n_spools, const char *run_key, struct worlds *worlds,
                  struct error *error);
void worlds_release(struct worlds *worlds);

#endif
