/* Finds the communicators of the run from what each process knows of its own. */
#ifndef MPISTAIR_TRACE_COMMUNICATOR_H
#define MPISTAIR_TRACE_COMMUNICATOR_H

#include "interpose/trace/state/trace.h"

/* Finds which records of different processes speak of the same communicator. */
struct identity_table {
    struct map groups;   /* identity over all processes, of one group -> communicator */
    struct map contexts; /* the same of both groups of an intercommunicator -> whichever of the two was met first */
    struct map repeated; /* within one process: what is alike in several records -> index of repeats */
    struct identity_repeat *repeats;
    size_t n_repeats;
};

struct communicator_table {
    struct identity_table identities;
    const struct worlds *worlds;
    uint32_t *links; /* [worlds->n_links] communicator of the side that came first */
    uint32_t *local; /* [n_local] within one process: its index -> trace.communicators */
    size_t n_local;
    uint64_t n_members; /* members of all communicators that were made, and the records that tell of them */
    uint64_t n_records;
};

/* Makes one MPI_COMM_WORLD for each world, by its number. */
void communicators_begin(struct communicator_table *table, struct trace *trace);
/* Reads the communicators of the next process, whose indices communicator_of understands from then on; adds those that
 * contradict themselves to *damaged. */
void communicators_of_process(struct communicator_table *table, struct trace *trace, const struct spool *spool,
                              uint64_t *damaged);
/* Fills in, once all processes are read, the members of duplicates that left no record of their own. */
void communicators_complete(struct trace *trace);
/* Returns the run's number of a process's communicator, TRACE_NONE if the process did not record it. */
uint32_t communicator_of(struct communicator_table *table, struct trace *trace, uint32_t index);
void communicators_release(struct communicator_table *table);

/* Returns the world rank of a peer as posted, which is in the other group of an intercommunicator; -1 if there is none
 * or it is not known. */
int32_t communicator_world_rank(const struct trace *trace, uint32_t communicator, int32_t peer);
/* Returns one number for both groups of an intercommunicator. */
uint32_t communicator_context(const struct trace *trace, uint32_t communicator);

#endif
