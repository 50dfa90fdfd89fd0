/* Holds what trace_load keeps while it reads the records of one process; shared with the files that read the rarer
 * ones.
 *
 * Processes number their persistent requests, partitions and stacks for themselves. A record may lie before the one
 * that it names (in another thread's lane): such numbers are kept as they are and resolved once the process is read. */
#ifndef MPISTAIR_TRACE_RECORDS_H
#define MPISTAIR_TRACE_RECORDS_H

#include <sqlite3.h>

#include "interpose/trace/communicators/communicators.h"
#include "interpose/trace/gather/bursts.h"
#include "interpose/trace/gather/nodes.h"
#include "interpose/trace/site/callsite.h"
#include "interpose/trace/state/trace.h"

struct skipped_call; /* joint.c */

/* The joint calls of a lane that lie outside of bursts: what has been read since the last time that they were added. */
struct outside {
    struct skipped_call *calls; /* [n_calls] */
    size_t n_calls;
    struct map numbers;
    int64_t place;          /* of the last record */
    int64_t at_ns;          /* latest time that is known to lie before what comes next */
    uint64_t ticks;         /* of the last record that the last reading takes */
    size_t span;            /* the next one to be noted */
    uint32_t next_sequence; /* of the chunk behind those before */
    struct spool_folded folded;
};

struct loader {
    struct trace *trace;
    struct communicator_table communicators;
    struct callsite_table callsites;
    struct map persistents; /* within one process: number -> trace.persistents */
    struct map partitions;  /* within one process: number -> trace.partitions */
    struct map stacks;      /* within one process: number -> trace.stacks */
    struct map stack_ids;   /* within the run: hash of the frames -> trace.stacks */
    const struct trace_node *node;
    struct trace_process *process;
    uint32_t rank;
    uint32_t lane;
    uint32_t partitioned; /* origin of the record just read if that was a partitioned operation, else TRACE_NONE */
    bool left_out;        /* the record just read was an operation outside of all bursts */
    struct outside outside;
    size_t clock_hint;
    uint64_t last_ticks; /* the latest ticks of the process so far */
    size_t first_origin; /* the process's first origin */
    size_t first_persistent;
    size_t first_partition_event;
};

/* Reads all spools for the first time. Fills communicators, collectives and other rare records (by rank, then by
 * begin), call sites, and all of the processes but their places. Times are on the nodes' own clocks. Needs nodes_build.
 */
void trace_load(struct trace *trace);

/* True if the communicator and the peer that the record names exist; if not, the record is damaged. */
bool operation_known(const struct trace *trace, const struct trace_process *process,
                     const struct spool_operation *record);

/* True if the last reading takes the record; *ticks is its place in the order of time of its lane. */
bool record_order(const struct trace *trace, const struct trace_process *process, const uint8_t *record,
                  uint64_t *ticks);

/* Where a run is thinned, joint calls outside of bursts become no rows, but count: as calls in trace.collectives and
 * trace.accesses with SPOOL_OFF, each for many. */
void joint_begin_process(struct loader *loader);
void joint_begin_lane(struct loader *loader, const struct trace_lane *lane);
/* Takes the next record of the lane, from that span. Returns whether it lies inside a burst. */
bool joint_take(struct loader *loader, const uint8_t *record, size_t span);
void joint_end_lane(struct loader *loader, const struct trace_lane *lane);
void joint_end_process(struct loader *loader);

/* True if MPI rejected the call, since it does not know its communicator either. */
bool operation_rejected(const struct spool_operation *record);

/* Returns a time of the rank's node on the run's clock, TRACE_NO_TIME as it is; needs clock_align. */
static inline int64_t trace_run_ns(const struct trace *trace, uint32_t rank, int64_t ns)
{
    return ns == TRACE_NO_TIME ? ns : clock_run_ns(&trace->nodes[trace->processes[rank].node], ns);
}

/* Returns the name of a direction, or of UINT8_MAX, in the trace. */
static inline const char *direction_name(uint8_t direction)
{
    return direction == SPOOL_SEND ? "send" : direction == SPOOL_RECEIVE ? "receive" : "collective";
}

/* Returns the node's time of a moment, which the process lived to see. */
int64_t loader_ns(struct loader *loader, uint64_t ticks);

/* Returns the time of what may not have happened (ticks 0). */
int64_t loader_optional_ns(struct loader *loader, uint64_t ticks);

/* Returns when a call returned that took so many ticks; one that is not SPOOL_NONBLOCKING returned at its end. */
int64_t loader_return_ns(struct loader *loader, uint16_t flags, uint64_t begin_ticks, uint32_t call_ticks,
                         uint64_t end_ticks);

/* Notes number -> index in the map of a process, only for the first record of that number; returns whether it was new.
 */
bool loader_note(struct map *map, uint32_t number, size_t index);

/* Looks up the communicator of a record whose target is a rank in it; TRACE_NONE where the record names none. Returns
 * false, and counts damage, where there is no such communicator or rank. */
bool loader_communicator(struct loader *loader, uint32_t index, int32_t target, uint32_t *communicator);

/* Returns what a number of the process stands for: TRACE_NONE for 0, and for one that no record has, which is damage
 * unless records are known to be lost. */
uint32_t loader_resolve(struct loader *loader, const struct map *map, uint32_t number);

void access_load(struct loader *loader, const struct spool_access *record);
/* Resolves the stacks of the calls once the process is read. */
void accesses_resolve(struct loader *loader);

/* True if all ranks that opened a file call that function on it together. */
bool access_is_collective(uint16_t function);

/* Writes the tables rma and file_call, and with calls the rows of `call`. Returns 0, or -1: the database says why. */
int accesses_write(const struct trace *trace, sqlite3 *database, bool calls);

/* Adds the mark to trace.collectives, see there. */
void mark_load(struct loader *loader, const struct spool_mark *record);

/* Finds the times without recording; needs clock_align. */
void marks_find(struct trace *trace);
/* Counts an operation posted in such a time: itself, or its partner, whose process recorded. */
void marks_count(struct trace *trace, const struct trace_operation *operation, bool is_partner);

/* Writes the tables mark and recording_off. Returns 0, or -1: the database says why. */
int marks_write(const struct trace *trace, sqlite3 *database);

/* Loads the record right behind that of its operation. */
void partitions_load(struct loader *loader, const struct spool_partitions *record);
void partition_load(struct loader *loader, const struct spool_partition *record);
/* Resolves the numbers of partitions once the process is read. */
void partitions_resolve(struct loader *loader);

/* Writes the table partition, once all operations are written. Returns 0, or -1: the database says why. */
int partitions_write(const struct trace *trace, sqlite3 *database);

void persistent_load(struct loader *loader, const struct spool_persistent *record);
/* True if the operation has a place in trace.origins. */
static inline bool record_has_origin(const struct spool_operation *record)
{
    return record->persistent != 0 || record->stack != 0 || (record->flags & SPOOL_PARTITIONED) != 0;
}

/* Puts what an operation has besides its own record into trace.origins. Returns its index, TRACE_NONE if there is
 * nothing. */
uint32_t origin_load(struct loader *loader, const struct spool_operation *record);
/* Sorts the requests of a process by time and links operations and collectives to them, once the process is read and
 * its stacks are resolved. */
void persistents_resolve(struct loader *loader);

/* Counts the partitioned requests of each envelope, by rank, in the order of their making. */
void persistents_number(struct trace *trace);

/* Writes the tables persistent and origin, once all operations are written. Returns 0, or -1: the database says why. */
int persistents_write(const struct trace *trace, sqlite3 *database);

/* Adds the call to trace.rejected. */
void rejected_load(struct loader *loader, const struct spool_operation *record);

/* Writes the table rejected. Returns 0, or -1: the database says why. */
int rejected_write(const struct trace *trace, sqlite3 *database);

void stack_load(struct loader *loader, const struct spool_stack *record);
/* Resolves the stacks of operations and collectives once the process is read. */
void stacks_resolve(struct loader *loader);

/* Writes the table stack. Returns 0, or -1: the database says why. */
int stacks_write(const struct trace *trace, sqlite3 *database);

#endif
