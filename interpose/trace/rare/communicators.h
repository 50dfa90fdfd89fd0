/* The communicators of the run out of what each process knows of its own. */
#ifndef MPISTAIR_TRACE_COMMUNICATOR_H
#define MPISTAIR_TRACE_COMMUNICATOR_H

#include "interpose/trace/gather/identity.h"
#include "interpose/trace/memory/trace.h"

struct communicator_table {
    struct identity_table identities;
    const struct worlds *worlds;
    uint32_t *links; /* [worlds->n_links] communicator of the side that came first */
    uint32_t *local; /* [n_local] of one process: its index -> trace.communicators */
    size_t n_local;
    uint64_t n_members; /* of all that were made, and the records that tell of them */
    uint64_t n_records;
};

/* Makes MPI_COMM_WORLD, of each world one, by its number. 0, or -1 without memory. */
int communicators_begin(struct communicator_table *table, struct trace *trace);
/* Reads the communicators of the next process, whose indices communicator_of understands from then on; adds those that
 * contradict themselves to *damaged. 0, or -1 without memory. */
int communicators_of_process(struct communicator_table *table, struct trace *trace, const struct spool *spool,
                             uint64_t *damaged);
/* Once all processes are read: members of duplicates that left no record of their own. */
void communicators_complete(struct trace *trace);
/* The run's number of a process's communicator, TRACE_NONE if the process did not record it. */
uint32_t communicator_of(struct communicator_table *table, struct trace *trace, uint32_t index);
void communicators_release(struct communicator_table *table);

/* World rank of a peer as posted, which in an intercommunicator is of the other group; -1: none, or not known. */
int32_t communicator_world_rank(const struct trace *trace, uint32_t communicator, int32_t peer);
/* One number for both groups of an intercommunicator. */
uint32_t communicator_context(const struct trace *trace, uint32_t communicator);

#endif
