/* Holds what each thread of a run did, in order: computed, posted, waited. The engine replays it, from a trace or
 * made up.
 *
 * A *strand* is a thread of a rank. It goes through its steps one after the other. Before a step it computes,
 * outside MPI, for as long as recorded; a step without STEP_ENTERS goes on inside the MPI call of the step before
 * it, without computation. A blocking MPI_Send is a STEP_SEND and a STEP_WAIT for it, both one call; MPI_Sendrecv
 * has three steps.
 *
 * Of a long run only *bursts* may be known, parts with time between that nobody knows. Each thread of a rank has a
 * strand in each burst; a burst begins on all ranks when the one before is over, and nothing goes from one to the next.
 *
 * Structures stand in arrays and name each other by indices. Times are seconds since the begin of the run, without the
 * time between bursts. */
#ifndef MPISTAIR_PREDICTOR_RUN_PROGRAM_H
#define MPISTAIR_PREDICTOR_RUN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/error.h"

/* Says what time inside and outside MPI goes to (share/doc/MODELS.md, Whole run). Measured time is not divided as far
 * as predicted time is: its transfer is RUN_BANDWIDTH alone. */
enum run_part {
    RUN_COMPUTATION,
    RUN_LATE_SENDER,
    RUN_LATE_RECEIVER,
    RUN_LATENCY, /* from here to RUN_PROGRESS: transfer */
    RUN_BANDWIDTH,
    RUN_CONTENTION,
    RUN_QUEUE,
    RUN_PROGRESS, /* a message stood still, as the MPI of its other rank moves it inside calls only */
    RUN_COLLECTIVE_WAIT,
    RUN_COLLECTIVE_TRANSFER,
    RUN_OTHER, /* posts, probes, files, what nothing explains */
    RUN_PART_COUNT
};
extern const char *const run_part_name[RUN_PART_COUNT]; /* computation, late_sender ... */

struct run_parts {
    double part_s[RUN_PART_COUNT];
};
static inline void run_parts_add(struct run_parts *sum, const struct run_parts *parts)
{
    for (int part = 0; part < RUN_PART_COUNT; part++)
        sum->part_s[part] += parts->part_s[part];
}

enum run_step_kind {
    STEP_SEND,       /* object: the message whose send is posted */
    STEP_RECEIVE,    /* object: the message whose receive is posted */
    STEP_WAIT,       /* object, count: waits[object ..], all of which must be complete */
    STEP_PROBE,      /* object: the message that must have been seen by its receiver */
    STEP_COLLECTIVE, /* object: the member that takes part; it is over with the step */
    STEP_BEGIN,      /* object: the member that takes part in a nonblocking collective */
    STEP_SPEND,      /* spent_s: time inside MPI that no rule predicts */
};
enum run_step_flag {
    STEP_ENTERS = 1U << 0, /* begins a call: what the strand computed before it counts */
    STEP_LEAVES = 1U << 1, /* ends the call */
};

struct run_step {
    double compute_s; /* 0 unless the step enters MPI */
    union {
        struct {
            uint32_t object, count;
        };
        double spent_s;
    };
    uint32_t place; /* in places */
    uint8_t kind;   /* enum run_step_kind */
    uint8_t flags;
    uint16_t processor; /* the operating system's number of the one on which it was recorded, plus 1; 0: not known */
};

struct run_strand {
    size_t first_step, n_steps;
    double begin_s; /* of its first computation */
    double tail_s;  /* computation after the last step */
    uint32_t tail_place;
    uint32_t rank;
    uint32_t burst; /* part of the run in which it is */
};

enum run_message_flag {
    MESSAGE_SYNCHRONOUS = 1U << 0, /* Ssend: moves as rendezvous, whatever its size */
    MESSAGE_BUFFERED = 1U << 1,    /* Bsend: its send is complete at once */
    MESSAGE_ONE_SIDED = 1U << 2,   /* Put: no receive is posted; its send is complete once it is delivered */
    MESSAGE_TENDED = 1U << 3,      /* moves as if both ranks were inside MPI */
    MESSAGE_GOES_ON = 1U << 4,     /* a piece of a partitioned message, whose next piece is the next message */
    MESSAGE_CACHED = 1U << 5,      /* its buffers are in caches */
    MESSAGE_AWAITED = 1U << 6,     /* recorded: its send was not over before its receive was posted */
};

struct run_message {
    uint64_t bytes;
    uint32_t src, dst; /* ranks */
    uint16_t flags;    /* enum run_message_flag */
    uint16_t kind;     /* those of one call site that sends, one that receives, sizes within a factor of two; 0: any */
    float seconds; /* recorded, from the later post to the end of the call that completed the receive; NaN: not known */
};
enum { RUN_MAX_KINDS = UINT16_MAX + 1 };

/* Names an end of a message, or a member of a nonblocking collective, in waits. */
enum run_operation_kind { OPERATION_SEND = 0, OPERATION_RECEIVE = 1, OPERATION_MEMBER = 2 };
static inline uint32_t run_operation(uint32_t object, enum run_operation_kind kind)
{
    return object << 2 | (uint32_t)kind;
}
static inline enum run_operation_kind run_operation_kind(uint32_t operation)
{
    return (enum run_operation_kind)(operation & 3);
}
static inline uint32_t run_operation_object(uint32_t operation)
{
    return operation >> 2;
}
enum { RUN_MAX_OBJECTS = 1 << 30 };
#define RUN_MAX_STEPS ((size_t)UINT32_MAX - 1)

/* Says who waits for whom in a collective of recorded length. */
enum run_dependence {
    DEPENDS_ON_ALL,    /* Barrier, Allreduce, Alltoall ...: nobody leaves before the last has come */
    DEPENDS_ON_ROOT,   /* Bcast, Scatter: nobody leaves before the root has come */
    DEPENDS_OF_ROOT,   /* Reduce, Gather: the root waits for all, the others for nobody */
    DEPENDS_ON_LOWER,  /* Scan: a member waits for those with lower numbers */
    DEPENDS_ON_NOBODY, /* what is local */
};

/* Names what is exchanged; the algorithms of `--collectives modelled` follow from it. */
enum run_collective_kind {
    COLLECTIVE_OTHER, /* recorded length only */
    COLLECTIVE_BARRIER,
    COLLECTIVE_BCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_SCAN,
    COLLECTIVE_KIND_COUNT
};

/* Names whose algorithms `--collectives modelled` takes; what descends from MPICH is MPICH. */
enum run_mpi_family { MPI_FAMILY_MPICH, MPI_FAMILY_OPEN_MPI };

enum run_collective_flag {
    COLLECTIVE_VARIES = 1U << 0, /* a size for each member: Gatherv, Alltoallw, Reduce_scatter ... */
};

/* Describes one execution of a collective; its members are members[first ..], by their number in the communicator. */
struct run_collective {
    uint32_t first_member, n_members;
    uint32_t root; /* number of the member, or UINT32_MAX */
    uint8_t dependence;
    uint8_t kind;
    uint8_t flags; /* enum run_collective_flag */
};

/* Returns which members of a collective member number i waits for, until the last of them comes: by their numbers,
 * from `first` to `end` - 1. */
struct run_awaited {
    uint32_t first, end; /* all, the first ones up to the member itself, or a single one */
};
static inline struct run_awaited run_awaited(const struct run_collective *collective, uint32_t i)
{
    bool on_root = collective->dependence == DEPENDS_ON_ROOT && collective->root < collective->n_members;
    if (collective->dependence == DEPENDS_ON_ALL ||
        (collective->dependence == DEPENDS_OF_ROOT && i == collective->root))
        return (struct run_awaited){0, collective->n_members};
    uint32_t last = on_root ? collective->root : i;
    return (struct run_awaited){collective->dependence == DEPENDS_ON_LOWER ? 0 : last, last + 1};
}

struct run_member {
    double after_s; /* recorded: from the arrival that it depends on (its own or a later one) to its exit */
    double bytes;   /* that it hands in (Bcast, Scatter: gets unless it is the root) */
    uint32_t rank;
    uint32_t collective;
};

/* Names where time is spent: a rank and the call that it made. Computation counts for the call behind it. */
struct run_site {
    const char *function; /* "MPI_Isend"; "end" for what comes behind the last call. Lives as long as the program. */
    int64_t callsite;     /* id of the trace's table, -1: not known */
};
struct run_place {
    uint32_t rank, site;
};

/* Describes a rank as a consumer of processors. */
struct run_rank {
    uint32_t node;
    uint32_t machine;     /* the first node whose processors its node shares, or its node */
    uint32_t processors;  /* of its node; 0: not known */
    int32_t processor;    /* on which it was; -1: not known */
    bool own_computation; /* its computation holds nothing of others, with whom it shares a processor */
    uint32_t follows;     /* rank + 1 of the one, gone by then, whose place on the machine it took; 0: none */
    uint32_t parent;      /* rank + 1 of one that spawned it, a lower one; 0: none, or not known */
    double absent_share;  /* of the run's time: before its world was spawned, and after that ended */
    double run_s, wait_s; /* recorded: it had a processor, it waited for one; NaN: not known */
    double lost_s;        /* behind all that its strands did: its recording had stopped, and it went on */
};

/* Holds a computation during which others had the processor, too: as recorded, while steps and strands have what was
 * the rank's own, or the other way round. */
struct run_shared {
    size_t of; /* the step that it comes before, or the strand that it ends */
    double seconds;
    bool is_tail;
};

struct run_program {
    size_t n_ranks, n_strands, n_steps, n_messages, n_waits, n_collectives, n_members, n_places, n_sites, n_kinds;
    struct run_rank *ranks;
    struct run_strand *strands; /* by rank, then burst; each rank has at least one */
    struct run_step *steps;
    struct run_message *messages;
    uint32_t *waits; /* run_operation */
    struct run_collective *collectives;
    struct run_member *members;
    struct run_place *places;
    struct run_site *sites;
    enum run_mpi_family mpi_family;
    struct run_parts *measured; /* [n_places]; NULL: a made-up program */
    double *between_polls_s;    /* [n_places] of measured, what lies between polls of a wait, not inside MPI; or NULL */
    double
        *moved_polls_s; /* [n_places] inside the polls of a loop that measured has with another place: this one's, less
                                 * what measured has here of others; or NULL */
    struct run_shared *shared; /* [n_shared] computation that was shared out among ranks on one processor; or NULL */
    size_t n_shared;
    double measured_begin_s; /* the first begin; with bursts 0 */
    double measured_run_s;   /* first begin to last end, of each burst; NaN: not measured */
    double handover_s;  /* recorded: from the end of a rank's computation to the begin of the next one on its processor,
                              at least; 0: not known */
    size_t n_bursts;    /* 0: the whole run */
    double *burst_s;    /* [n_bursts + 1] begins, as measured; the last end; NULL: the whole run */
    double burst_share; /* of the run's time */
    void *texts;        /* owns the sites' names (a struct pool of the reader), or NULL */
    void (*release_texts)(void *texts);
};

/* Returns how many strands a rank has in a burst at most. *strand, its first one, becomes the first one of the next
 * rank. */
uint32_t run_program_threads(const struct run_program *program, size_t *strand);

/* Puts computation as recorded in the place of the ranks' own, or back. */
void run_program_swap_shared(struct run_program *program);

void run_program_release(struct run_program *program);

/* The rest builds programs: arrays grow, a strand's steps are added before those of the next one. What returns an int
 * returns 0, or -1: beyond RUN_MAX_OBJECTS messages or members, RUN_MAX_STEPS, or for a step without a strand. */
void run_program_ranks(struct run_program *program, size_t n_ranks);
void run_program_strand(struct run_program *program, uint32_t rank, double begin_s);
/* Adds a step to the last strand. */
int run_program_step(struct run_program *program, const struct run_step *step);
int run_program_message(struct run_program *program, const struct run_message *message);
void run_program_wait(struct run_program *program, uint32_t operation);
void run_program_collective(struct run_program *program, const struct run_collective *collective);
int run_program_member(struct run_program *program, const struct run_member *member);
void run_program_site(struct run_program *program, const char *function, int64_t callsite);
void run_program_place(struct run_program *program, uint32_t rank, uint32_t site);

/* Checks that indices are in range, that messages are posted at most once at each end, that strands of a rank lie
 * together. Returns 0, or -1 with the reason. */
int run_program_check(const struct run_program *program, struct error *error);

#endif
