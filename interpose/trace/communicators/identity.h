/* Finds which records of different processes speak of the same communicator. */
#ifndef MPISTAIR_TRACE_IDENTITY_H
#define MPISTAIR_TRACE_IDENTITY_H

#include <stdbool.h>

#include "interpose/spool/event.h"
#include "share/base/map.h"

struct identity_table {
    struct map groups;   /* identity over all processes, of one group -> communicator */
    struct map contexts; /* the same of both groups of an intercommunicator -> whichever of the two was met first */
    struct map repeated; /* within one process: what is alike in several records -> index of repeats */
    struct identity_repeat *repeats;
    size_t n_repeats;
};

/* What identity_look_up found about a record. */
struct identity {
    uint32_t id;         /* the communicator, or MAP_ABSENT: no process spoke of this group before */
    uint32_t first;      /* the communicator of either group that was met first, or MAP_ABSENT */
    bool doubtful;       /* two threads of this process made such a communicator at once */
    struct map_key keys; /* for identity_set */
    uint64_t place, remote_size;
};

/* Forgets what is counted per process. */
void identity_next_process(struct identity_table *table);
/* Looks up a record, whose parent has the number parent in all processes (MAP_ABSENT: it has none that counts). Records
 * of a process come in the order of their indices. */
struct identity identity_look_up(struct identity_table *table, const struct spool_communicator *record,
                                 uint32_t parent);
/* Gives a record that was not found the number id. */
void identity_set(struct identity_table *table, struct identity *found, uint32_t id);
void identity_release(struct identity_table *table);

/* True if it was made by a call in which groups met that have no parent in common, and members of several worlds
 * belong to it. */
bool identity_is_meeting(const struct spool_communicator *record);

/* True if the parent identifies anything. It does not after MPI_Intercomm_create and the like, whose two sides
 * have different parents. */
bool identity_has_parent(const struct spool_communicator *record);

#endif
