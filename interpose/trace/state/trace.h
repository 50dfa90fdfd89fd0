/* Holds a recorded run between the spools and trace.db. The spools are read three times, or four:
 *
 *     spools_gather   which files make up the run                        gather/spools.h
 *     nodes_build     hosts, the clock of each                           gather/nodes.h
 *     bursts_find     which parts of a thinned run become rows           gather/bursts.h
 *     trace_load      first reading: what there is little of, whole      records/
 *                     (communicators, collectives, marks, call sites)    site/callsite.h
 *                     threads look at the records of a few processes     records/first_look.h
 *                     before, and leave those that say nothing new
 *     clock_align     all times on one clock; with several nodes a       clock/clock_align.c
 *                     reading of its own for what their messages say
 *     places_find     node, socket, ... of processes; message levels     gather/place.h
 *     stream_run      next reading: operations and completion calls      stream/stream.h
 *                     in windows of time, rank by rank;                  stream/rank_reading.h
 *                     threads read ahead of what follows; finds          stream/ahead.h
 *         what each rank did together                                    stream/step.h
 *         which send met which receive                                   stream/match.h
 *         which ranks did it together                                    stream/round.h
 *                     and, in a thread of its own,                       stream/behind.h
 *         kinds; rows of what nothing can change any more                stream/round_rows.h, rows/sink.h
 *     trace_write     all other rows; last reading: the totals           write/write.h
 *
 * So memory depends on the number of ranks and on what is open at one time, not on the length of the run, except for
 * what trace_load keeps.
 *
 * Structures stand in arrays and name each other by indices instead of pointers. Operations and steps live in pools:
 * the place of one that is done with is used again. */
#ifndef MPISTAIR_TRACE_TRACE_H
#define MPISTAIR_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/spool/event.h"
#include "interpose/functions.h"
#include "interpose/trace/state/module_history.h"
#include "share/base/map.h"
#include "interpose/spool/reader.h"

struct worlds; /* communicators/worlds.h */

#define TRACE_NONE     UINT32_MAX /* no operation, communicator, call site, step, round */
#define TRACE_NO_TIME  INT64_MIN
#define TRACE_NOT_LOST UINT64_MAX

/* Why an operation has no partner; the names are those of the column `reason`. */
enum trace_reason {
    REASON_MATCHED = 0,
    REASON_PARTNER_LOST,
    REASON_CANCELLED,
    REASON_FAILED,
    REASON_PROC_NULL,
    REASON_FREED,
    REASON_PENDING,
    REASON_UNMATCHED,
    REASON_CUT_OFF, /* its partner lies outside the burst, or may */
};

/* Why the order of a message is not certain: bits, as in the column `uncertain`. */
enum trace_doubt {
    DOUBT_THREADS = 1U << 0,      /* calls of several threads on its envelope overlapped */
    DOUBT_HANDLE = 1U << 1,       /* a wildcard resolved through a request handle that others shared */
    DOUBT_COMMUNICATOR = 1U << 2, /* the creation of its communicator was not seen */
    DOUBT_TIME = 1U << 3,         /* it was received before it was sent */
    DOUBT_WILDCARD = 1U << 4,     /* a wildcard receive whose message is not known was posted before */
    DOUBT_FAILED = 1U << 5,       /* a receive failed on its envelope, and whether that took a message is not known */
    DOUBT_CANCEL = 1U << 6,       /* MPI_Cancel was called on its envelope, and it is unknown whether that cancelled
                                   * anything */
    DOUBT_LOST = 1U << 7,         /* records of its sender or receiver were lost before */
};

/* One operation; times are nanoseconds of the run. A message consists of two operations; its other facts are in the
 * receive. */
struct trace_operation {
    int64_t post_ns;
    int64_t post_end_ns; /* return of the posting call */
    int64_t complete_ns; /* TRACE_NO_TIME: no call reported it */
    int64_t in_mpi_ns;   /* time inside MPI before the post */
    uint64_t bytes;
    uint64_t sequence;    /* number among its rank's operations, in the order of posting */
    uint64_t step_number; /* trace_step.number of its step */
    uint32_t rank;
    uint32_t communicator; /* index in trace.communicators */
    int32_t peer;          /* rank in the communicator, SPOOL_ANY, SPOOL_PROC_NULL, SPOOL_UNKNOWN */
    int32_t peer_world;    /* rank in MPI_COMM_WORLD, -1: none or not known */
    int32_t tag;
    uint32_t partner; /* operation, or TRACE_NONE */
    uint32_t callsite;
    uint32_t step;
    uint32_t lane;
    uint32_t origin; /* index in trace.origins, TRACE_NONE for most */
    uint32_t next;   /* operation: next in its envelope, later in the messages of its round, or next free one */
    uint32_t posted; /* its number among those of its rank of which an event will come: see stream/step.h */
    uint16_t function;
    uint16_t flags; /* enum spool_operation_flag */
    int16_t cpu_post;
    int16_t cpu_complete;
    uint8_t direction;
    uint8_t memory; /* enum spool_memory of its buffer */
    uint8_t reason;
    uint8_t uncertain; /* enum trace_doubt */
    int8_t completed;  /* operations that its call completed, -1: another operation stands for the call */
    bool placed;       /* its step is certain */
    bool counts;       /* it is, or may become, part of a message that makes rounds */
    bool held;         /* it counts, and its step waits for it */
    bool passed;       /* no event of it will come any more */
    bool written;      /* no row of it will be written any more */
    bool unsure;       /* it failed, and it is unknown whether it took a place in matching */
};

/* What only some operations have: a persistent request, partitions, a stack; TRACE_NONE means that it has none.
 * While its process is loaded, persistent and stack hold the process's own numbers (0: none). */
struct trace_origin {
    uint32_t persistent; /* index in trace.persistents */
    uint32_t stack;      /* index in trace.stacks */
    uint32_t rank;
    uint8_t direction;
    int64_t message_id;   /* id once written, else 0 */
    int64_t unmatched_id; /* id once written, else 0 */
};

/* A request made by MPI_..._init. Its times, and those of what follows, stay on the node's clock. */
struct trace_persistent {
    int64_t begin_ns;
    int64_t end_ns;
    uint64_t bytes;
    uint32_t rank;
    uint32_t number; /* its number in its process */
    uint32_t communicator;
    int32_t peer;
    int32_t peer_world;
    int32_t tag;
    uint32_t partitions; /* 0: not partitioned */
    uint32_t ordinal;    /* partitioned ones: 0, 1, ... among those of its rank with the same envelope */
    uint32_t starts;
    uint32_t callsite;
    uint32_t lane;
    uint16_t function;
    uint8_t direction; /* UINT8_MAX: it is a collective */
    uint8_t uncertain;
};

/* The partitions of one started operation. */
struct trace_partitions {
    int64_t first_ns; /* TRACE_NO_TIME: none was marked */
    int64_t last_ns;
    uint32_t origin;
    uint32_t done;
    uint32_t partitions;
};

/* One partition. */
struct trace_partition {
    int64_t at_ns;
    uint32_t partitions; /* index in trace.partitions, TRACE_NONE: damaged; while loading, the process's own number */
    uint32_t partition;
    uint32_t callsite;
    uint16_t function;
};

/* The call sites of a stack, the innermost first. */
struct trace_stack {
    size_t first; /* index in trace.frames */
    uint32_t n_frames;
};

enum trace_call_sort { CALL_COLLECTIVE, CALL_ONE_SIDED, CALL_FILE, CALL_MARK };

/* A collective, a call on a window or a file, or one of MPI_Pcontrol: a mark, which bounds rounds as a synchronising
 * collective does. For a mark, peer is its number and communicator TRACE_NONE, and SPOOL_OFF says that recording is off
 * from there on. Other ones with SPOOL_OFF were made while it was, or outside of bursts, and become no row. */
struct trace_call {
    int64_t begin_ns;
    int64_t call_end_ns; /* return of the call that began it */
    int64_t end_ns;      /* end of the call that completed it, mostly the same; TRACE_NO_TIME: none did */
    uint64_t bytes;      /* 0 of a call on a file that failed */
    int64_t offset;      /* in the file's view, -1: none was given */
    uint64_t instance; /* number of the call among those that its rank made with the same others, from 1; 0: not known,
                        * or none */
    uint32_t rank;
    uint32_t communicator; /* TRACE_NONE: that of a window or file is not known */
    uint32_t callsite;
    uint32_t persistent; /* index in trace.persistents, TRACE_NONE: none; while loading as in trace_origin */
    uint32_t stack;
    int32_t peer;     /* root of a collective, target in a window: rank in the communicator, -1: none */
    uint32_t object;  /* number of the window or file in the process, 0: not known */
    uint32_t further; /* calls that it stands for besides itself */
    uint16_t function;
    uint16_t flags; /* enum spool_operation_flag */
    uint8_t sort;   /* enum trace_call_sort */
};

struct trace_communicator {
    char *name;      /* NULL: none */
    uint32_t parent; /* TRACE_NONE: none */
    int32_t size;
    int32_t remote_size; /* intercommunicators; else 0 */
    uint32_t remote;     /* the communicator of the other group, TRACE_NONE: none, or not seen */
    int32_t *members;    /* [size] ranks of MPI_COMM_WORLD, -1: not known */
    int32_t named_by;    /* rank whose MPI_Comm_set_name gave the name, -1: none */
    uint16_t function;
    bool made; /* a recorded function made it; false for MPI_COMM_WORLD, MPI_COMM_SELF, and one that was met */
    bool known;
    bool used;
};

/* Where one processor lies; -1 means not known. */
struct trace_place {
    int32_t socket;
    int32_t numa;
    int32_t l3;
    int32_t core;
};

/* How often a process posted on a processor. */
struct trace_posts {
    int32_t cpu;
    uint64_t posts;
};

/* The calls of one function at one place that named a communicator which MPI does not know. */
struct trace_rejected {
    uint32_t rank;
    uint32_t callsite;
    uint16_t function;
    uint64_t calls;
};

/* A time without recording on one rank. */
struct trace_off {
    int64_t begin_ns;
    int64_t end_ns;
    int64_t operations; /* posted in it */
    int64_t partners;   /* recorded operations of others that met one of them */
    uint32_t rank;
};

/* A host. */
struct trace_node {
    const char *host; /* borrowed from a spool */
    struct spool_clock_pair *pairs;
    size_t n_pairs;
    bool ticks;          /* pairs map ticks; else they are CLOCK_MONOTONIC of each process */
    uint32_t leader;     /* world rank, TRACE_NONE: its spool is missing */
    int64_t base_ns;     /* alignment: run time = t - base_ns + offset_ns + drift * (t - base_ns) */
    int64_t offset_ns;   /* offset of rank 0's clock against the node's at base_ns, without the run's start */
    int64_t shift_ns;    /* how much of offset_ns the messages added */
    double drift;        /* in nanoseconds per nanosecond */
    int64_t links_ns[2]; /* node time of the links, TRACE_NO_TIME: not measured */
    int64_t rtt_ns[2];
    int64_t uncertainty_ns; /* uncertainty of an offset that only messages give; -1: not bounded */
    bool linked;
    char *topology;             /* hwloc XML, NULL: not known */
    struct trace_place *places; /* [n_places] by processor */
    size_t n_places;
    int32_t n_sockets;
    int32_t n_cores;
    int32_t n_processors; /* hardware threads that it may use */
    uint64_t kernel_key;  /* 0: not known */
    uint32_t machine;     /* the first node that has some of its cores, as a container of the same kernel; or itself */
};

/* The chunks of one thread, and the first of the origins that its operations have. */
struct trace_lane {
    uint32_t number;
    size_t first_span; /* index in the spool's spans */
    size_t end_span;
    size_t first_origin;
};

/* The call sites of a process, by address and, where several modules lay there, by module. */
struct process_callsites {
    struct map sites;               /* see callsite.c */
    struct process_modules modules; /* empty unless by_time */
    bool by_time;                   /* an address of a call had several modules, or not at all times the same */
};

/* The calls of a rank as disjoint intervals; starts as zeroes. */
struct time_in_mpi {
    struct mpi_interval *intervals; /* [n] from first on, in the order of time */
    size_t first;
    size_t n;
    size_t capacity;
};

struct trace_process {
    struct spool *spool; /* borrowed; NULL: lost */
    uint32_t node;       /* index in trace.nodes, TRACE_NONE: lost */
    uint32_t placed;     /* number of its node in the database, TRACE_NONE: not known */
    struct trace_place place;
    int32_t processor; /* on which it posted most, -1: not known */
    bool by_hand;
    bool off;       /* it has operations with SPOOL_OFF */
    bool exhausted; /* all its operations were read */
    bool at_once;   /* it is lost, since it ended before it had said who it is */
    uint64_t damaged;
    uint64_t lost_ticks; /* time after which records may be missing; TRACE_NOT_LOST: none are */
    int64_t stopped_ns; /* from there on, on its node's clock, nothing was recorded; TRACE_NO_TIME: it was to its end */
    size_t first_call;  /* index in trace.calls; they end where those of the next rank begin */
    int64_t uncounted_ns; /* from there on, on its node's clock, it is not known how many calls went before;
                           * TRACE_NO_TIME: it always is */
    int64_t ahead_ns;     /* its CLOCK_MONOTONIC against the node's, where ticks are that clock */
    int64_t begin_ns;
    int64_t end_ns;
    struct trace_lane *lanes; /* [n_lanes] */
    size_t n_lanes;
    uint32_t *communicators; /* [n_communicators] by the process's index, TRACE_NONE: none */
    size_t n_communicators;
    struct process_callsites callsites;
    uint32_t *regions;         /* [SPOOL_REGIONS] index in trace.regions by the process's number; NULL: it has none */
    uint64_t last_ticks;       /* the latest of its records, and of its end */
    struct trace_posts *posts; /* [n_posts] by processor */
    size_t n_posts;
};

/* A region that the program marks. */
struct trace_region {
    char *name;
    uint32_t parent; /* index in trace.regions of the one around it; TRACE_NONE: none */
    uint8_t way;     /* enum spool_region_way */
};

/* A place in the source; what is NULL or 0 is not known. */
struct trace_frame {
    char *function;
    char *file;
    int line;
};

struct trace_callsite {
    uint32_t module; /* index in trace.modules */
    uint64_t offset;
    uint32_t region; /* index in trace.regions, TRACE_NONE: none */
    char *function;  /* NULL: not known */
    char *file;
    int line;
    struct trace_frame *callers; /* [n_callers] into which the compiler inlined the function, one into the next */
    size_t n_callers;
};

struct trace_module {
    char *path;
    char *build_id;                  /* NULL: not known */
    struct module_identity identity; /* its build_id is the one above */
    char *reason;                    /* why its call sites have no names; NULL: they have those that its file has */
};

/* What a rank did together: see step.c. Steps of one round hang on one of them: see round.c. */
struct trace_step {
    /* Times are set once it is closed. */
    int64_t begin_ns;
    int64_t end_ns;
    int64_t begin_in_mpi_ns; /* time inside MPI before its begin and before its end */
    int64_t end_in_mpi_ns;
    uint64_t number; /* 1, 2, ... in the order of opening; 0: the place is free */
    uint32_t rank;
    uint32_t n_barriers; /* synchronising collectives that the rank had begun before */
    uint32_t parent; /* union and find; a step that is its own parent represents its round, and only then the following
                      * hold: */
    uint32_t next;   /* next step of the round (for all steps this one), or next free one */
    uint32_t last;
    uint32_t first_message; /* receive, linked through next; TRACE_NONE: none yet */
    uint32_t last_message;
    uint32_t open; /* steps that are not closed */
    uint32_t held; /* operations that may make another message */
};

struct trace_kind {
    uint64_t messages;
    uint64_t bytes;
    uint64_t smallest_bytes, largest_bytes; /* extremes over its messages */
    uint32_t rounds;
    uint32_t family; /* 0, 1, ... in the order of their first rounds */
};

/* Which parts of a run have records of single calls: see bursts.h. */
struct trace_bursts {
    bool thinned; /* not all */
    uint32_t level;
    uint32_t cut;
};

struct trace {
    int32_t world_size; /* processes of all worlds */
    struct trace_bursts bursts;
    const struct worlds *worlds;
    size_t n_spools;
    bool apart; /* processes went on without those that did not join the recording */
    int64_t duration_ns;
    struct trace_process *processes; /* [world_size + 1], the last one ends the ranges */
    struct trace_node *nodes;
    size_t n_nodes;
    struct trace_communicator *communicators;
    size_t n_communicators;
    struct trace_operation *operations; /* a pool */
    size_t n_operations;
    uint32_t first_free;      /* first free place of the pool, linked through next */
    struct trace_call *calls; /* by rank, then time */
    size_t n_calls;
    struct trace_origin *origins;
    size_t n_origins;
    struct trace_persistent *persistents; /* by rank, then time */
    size_t n_persistents;
    struct trace_partitions *partitions;
    size_t n_partitions;
    struct trace_partition *partition_events;
    size_t n_partition_events;
    struct trace_stack *stacks;
    size_t n_stacks;
    uint32_t *frames; /* call sites */
    size_t n_frames;
    struct trace_callsite *callsites;
    size_t n_callsites;
    struct trace_module *modules;
    size_t n_modules;
    struct trace_region *regions; /* each one behind the one around it */
    size_t n_regions;
    struct map region_ids;  /* (hash and length of the name, parent) -> trace.regions */
    struct trace_off *offs; /* see marks.c */
    size_t n_offs;
    struct trace_rejected *rejected; /* ascending by rank */
    size_t n_rejected;
    struct trace_step *steps; /* a pool */
    size_t n_steps;
    size_t n_rounds; /* written */
    struct trace_kind *kinds;
    size_t n_kinds;
};

void trace_release(struct trace *trace);

/* Makes room as array_grow does, for an array whose elements have numbers below TRACE_NONE; more end the program. */
void trace_grow(void *array, size_t n, size_t element_bytes);
/* Adds a value to such an array, as ARRAY_ADD does. */
#define TRACE_ADD(array, n, ...) (trace_grow(&(array), (n), sizeof *(array)), (void)((array)[(n)++] = (__VA_ARGS__)))

/* Returns the first process that left a spool, which there is. */
const struct trace_process *trace_first_process(const struct trace *trace);
/* True if the process has records of the lane. */
bool process_has_lane(const struct trace_process *process, uint32_t lane);
/* Returns the communicator of a process's index; TRACE_NONE if it has none, or none with such a peer (-1: any will do).
 */
static inline uint32_t process_communicator(const struct trace *trace, const struct trace_process *process,
                                            uint32_t index, int32_t peer)
{
    uint32_t communicator = index < process->n_communicators ? process->communicators[index] : TRACE_NONE;
    if (communicator == TRACE_NONE)
        return TRACE_NONE;
    const struct trace_communicator *known = &trace->communicators[communicator];
    return peer < (known->remote_size > 0 ? known->remote_size : known->size) ? communicator : TRACE_NONE;
}

/* Returns an operation of the pool. It goes back once it is both passed and written. */
uint32_t operation_new(struct trace *trace);
void operation_passed(struct trace *trace, uint32_t operation);
void operation_written(struct trace *trace, uint32_t operation);

/* Adds a call; calls come in the order of their begins. */
void time_in_mpi_add(struct time_in_mpi *time, int64_t begin_ns, int64_t end_ns);
/* Returns the time inside MPI before a moment, in ns. The moment must not be earlier than what was forgotten. */
int64_t time_in_mpi_before(const struct time_in_mpi *time, int64_t at_ns);
/* Discards everything before a time; later queries must not go back further. */
void time_in_mpi_forget(struct time_in_mpi *time, int64_t before_ns);
void time_in_mpi_release(struct time_in_mpi *time);

/* Fills eager_bytes with the eager limits of the transports inside a node and between nodes, TRACE_NO_TIME: not known.
 */
void trace_eager_limits(const struct trace *trace, int64_t eager_bytes[2]);

/* Returns the name ("MPI_Isend") of a number of functions.h, which is below FN_COUNT. */
const char *function_name(uint16_t function);
/* Returns the function's family in mpi.tbl. */
enum mpistair_family function_family(uint16_t function);
/* True if the function is one on files, or on windows. */
bool function_is_of_file(uint16_t function);
bool function_is_one_sided(uint16_t function);

/* True if the call separates rounds, what lies before it from what lies behind it: a collective that no process leaves
 * before all have entered it, or a mark that the program set. Nonblocking and persistent collectives never do: none of
 * their calls waits for all, and when one of them reports their end, other operations of the exchange may be
 * pending. */
bool call_bounds(const struct trace_call *call);
/* True if all ranks of its communicator make the call together. */
bool call_is_joint(const struct trace_call *call);

#endif
