/* The state of a simulated run, which all that happens in it shares. What changes it: run_strand.c what threads do and
 * wait for, run_cores.c their processors, run_message.c messages, run_collective.c collectives. simulation.c lets
 * them know of each other. What they do for each other follows at the end. */
#ifndef MPISTAIR_PREDICTOR_SIMULATION_STATE_H
#define MPISTAIR_PREDICTOR_SIMULATION_STATE_H

#include "predictor/run/laws/run_links.h"
#include "predictor/run/laws/run_queue.h"
#include "predictor/run/collectives/run_script.h"
#include "predictor/run/laws/run_share.h"
#include "predictor/run/engine/simulate.h"
#include "share/base/array.h"
#include "share/base/heap.h"

#define RUN_NOBODY      UINT32_MAX
#define MESSAGE_IS_OVER UINT32_MAX

/* Gives numbers of an array's elements, those that were given back first. */
struct run_numbers {
    uint32_t n;     /* that were ever given: the array has so many elements */
    uint32_t *back; /* [n_back] */
    size_t n_back, room, elements_room;
};
/* Returns a number, for which *(T **)elements gets room. */
static inline uint32_t run_numbers_take(struct run_numbers *numbers, void *elements, size_t element_bytes)
{
    uint32_t number = numbers->n_back > 0 ? numbers->back[--numbers->n_back] : numbers->n++;
    array_reserve(elements, &numbers->elements_room, number + (size_t)1, element_bytes);
    return number;
}
static inline void run_numbers_give(struct run_numbers *numbers, uint32_t number)
{
    array_reserve(&numbers->back, &numbers->room, numbers->n_back + 1, sizeof *numbers->back);
    numbers->back[numbers->n_back++] = number;
}

enum strand_phase {
    STRAND_COMPUTES, /* next: the computation before its step */
    STRAND_ACTS,     /* next: what the step does */
    STRAND_WAITS,    /* for n_missing operations */
    STRAND_QUEUES,   /* for a core */
    STRAND_ENDS,     /* next: the end of the step */
    STRAND_IS_DONE,
};

/* Says what a wait consisted of, if it ended with a given operation. */
struct wait_parts {
    struct run_parts of;
    struct run_moment cause; /* who was late, if anybody was; strand RUN_NOBODY: not known */
};

struct strand {
    size_t step;
    uint32_t n_missing;
    uint8_t phase;
    bool inside;         /* counts in ranks inside MPI */
    bool tends;          /* counts in those of them that have a processor */
    bool polls;          /* counts in ranks that wait in MPI */
    bool computes;       /* takes memory bandwidth from messages */
    double wait_begin_s; /* since when it waits */
    double last_s;       /* when the last of what it waits for was complete; -1: nothing yet */
    uint32_t last;       /* that operation */
    size_t n_marks;      /* of windows that it has passed, with those of strands before it */
    size_t marked_until; /* the step from which on there are more; 0: not known */
    double *window_s;    /* into which its time goes until then */
    struct wait_parts parts;
};

enum message_done {
    SEND_DONE = 1U << OPERATION_SEND,
    DELIVERED = 1U << OPERATION_RECEIVE,
    NOTED = 1U << 2, /* in simulation_options.message_s, where that is asked for */
};

/* A message from its first post, or the first that waits for one, until both ends are posted and complete. */
struct message_state {
    double post_s[2];   /* of the send, the receive; NaN: not yet */
    uint32_t waiter[2]; /* strand that waits for that end, RUN_NOBODY; for the receive before its post: that probes */
    uint32_t transfer;  /* RUN_NOBODY: not under way */
    uint8_t done;
    uint8_t class;
    bool rendezvous, one_sided;
};

/* The first two are of a handshake that is made step by step. */
enum transfer_phase {
    TRANSFER_ANNOUNCES,
    TRANSFER_ANSWERS,
    TRANSFER_BEGINS,
    TRANSFER_MOVES,
    TRANSFER_STOPS,
    TRANSFER_IS_THROUGH,
    TRANSFER_ARRIVES, /* it would be delivered, but what arrives at the same moment has not been searched for */
    TRANSFER_IS_FOUND,
};

/* A message under way, from its begin to its delivery. */
struct transfer {
    struct run_mover mover;
    uint32_t message;
    uint8_t phase;
    bool noted;                               /* with the ranks that it needs */
    double rest;                              /* while it stops */
    double stopped_s;                         /* since when it stops */
    double stalled_s;                         /* how long it stopped before */
    double wait_s[2];                         /* of the announcement, the answer, for a network card */
    double announced_s, agreed_s, answered_s; /* when the first arrived, when the answer left and arrived */
    double begun_s;                           /* when its bytes began to move, or stood still */
    uint32_t first_behind, next_behind; /* whose announcement, answer waits until it is through; RUN_NOBODY: no more */
    double crossing_s;         /* by how much its last byte comes later, for a message that goes the other way */
    double queued_s;           /* when its last byte can be through at the earliest, for what was sent before it */
    double moved_s, through_s; /* when its last byte had its turn, when it was through */
    double search_s;           /* how long its delivery waits for a search */
    struct run_moment begun;   /* the post that let it begin */
    double rest_at_wait[2], stalled_at_wait[2]; /* when the wait for its send, its receive began */
};

struct member_state {
    double arrival_s; /* NaN: not yet */
    union {
        double moment_s;      /* the arrival that it depends on, once known */
        uint32_t participant; /* of a modelled collective, from its arrival until it is done */
    };
    uint32_t waiter;
    bool done;
};

struct collective_state {
    uint32_t n_arrived, n_lower; /* n_lower: the first so many have all arrived */
    double lower_s;              /* last arrival of those */
    struct run_moment last;      /* the arrival that others depend on */
    uint32_t instance;           /* of a modelled one that is under way, or RUN_NOBODY */
};

/* A message of a modelled collective. Its number is that of its place behind the program's messages. */
struct collective_message {
    struct run_message told; /* MESSAGE_TENDED and no other flag */
    struct message_state state;
    uint32_t instance;
    uint32_t member[2];          /* numbers of the sender, the receiver in the collective */
    uint32_t participant[2];     /* who waits for that end, RUN_NOBODY */
    struct run_moment latest[2]; /* the last arrival that the post depended on */
    uint32_t next;               /* in its bucket */
};

/* A member of an instance while it goes through the script. */
struct participant {
    struct script_cursor cursor;
    uint32_t member, instance;
    uint32_t n_pending;       /* ends of messages of the round that are not complete */
    bool posts;               /* the round's posts are not all made */
    struct run_moment latest; /* the last arrival that it depends on so far */
};

/* An instance of a modelled collective, from its first arrival until all members are done. */
struct instance {
    struct run_script script;
    struct script_nodes *nodes; /* of the script, or NULL */
    uint32_t n_left;            /* members that are not done */
    bool tended;                /* nonblocking: goes on as if its ranks were inside MPI */
};

struct modelled_state {
    struct collective_message *messages;
    struct participant *participants;
    struct instance *instances;
    struct run_numbers message_numbers, participant_numbers, instance_numbers;
    uint32_t *buckets; /* [n_buckets], a power of two: messages of which one end is not posted yet */
    size_t n_buckets, n_waiting;
    uint32_t posting; /* the message that is being posted, RUN_NOBODY */
};

/* Holds the bytes of a message that are before others in the queue of a network card. */
struct run_ahead {
    uint32_t src, dst, transfer;
    double left;
};

struct transfer_list {
    uint32_t *transfers;
    size_t n, room;
};

struct rank_state {
    uint32_t first_strand;        /* those of a rank lie together */
    uint32_t n_inside;            /* strands inside MPI */
    uint32_t n_tending;           /* of these, that have a processor */
    uint32_t n_polling;           /* strands that wait in MPI, or have ended */
    uint32_t n_going;             /* strands that have not ended */
    double absent_s;              /* between its strands of a burst and those of the next one */
    uint32_t n_threads;           /* that compute for each strand that does; of the term memory */
    struct transfer_list needing; /* those that move only while the rank is inside MPI */
    struct transfer_list coming;  /* those to it that move after a handshake by steps */
    struct transfer_list arrived; /* announcements and answers that wait for it to be there, in order */
};

/* Holds a processor of a machine that has fewer of them than ranks, and who waits for it. */
struct run_core {
    uint32_t n_strands;   /* that it serves */
    uint32_t n_busy;      /* that have it, and share it */
    uint32_t first, last; /* of the queue, by strand_core.next */
    uint32_t computing;   /* the first of those that compute, by strand_core.next */
    double since_s;       /* when what these still need was told last */
};
struct strand_core {
    uint32_t core;  /* RUN_NOBODY: it has one for itself */
    uint32_t next;  /* in the core's queue, or of those that compute */
    double since_s; /* since when it is in the queue, or computes; -1: neither */
    double left_s;  /* of the core alone until what it computes is done, -1: it does not */
    double due_s;   /* when it is done if nothing changes */
    bool has;       /* its core */
    double ready_s; /* when it has it in its hands, after what others did there */
    uint16_t at;    /* the processor on which it was recorded last, as of run_step */
};
struct run_cores {
    struct run_core *cores; /* [n_cores] */
    size_t n_cores;
    struct machine_cores *machines;
    uint32_t *machine_of; /* [n_ranks] */
    struct map known;     /* (machine, number of a processor) to its place among the machine's */
    struct strand_core *strands;
};

/* A strand goes on, a transfer changes its phase, a member leaves its collective, a strand's turn comes. */
enum event_kind { EVENT_STRAND = 0, EVENT_TRANSFER, EVENT_MEMBER, EVENT_TURN, EVENT_MAX_KINDS };

struct simulation;
typedef void event_handler(struct simulation *sim, uint32_t number);

/* Events in the order of their times: numbers of some kind, which the handler of that kind alone can read. */
struct events {
    double now_s;
    struct heap heap; /* ids hold the number and the kind, so that an entry takes 16 bytes */
    event_handler *handlers[EVENT_MAX_KINDS];
};

/* Schedules an event, at the present time or later. Of two at the same time either may come first. */
static inline void events_schedule(struct events *events, double at_s, unsigned kind, uint32_t number)
{
    heap_push(&events->heap, at_s, number * EVENT_MAX_KINDS + kind);
}

struct simulation {
    struct run_cores cores;
    struct modelled_state modelled;
    const struct run_program *program;
    const struct placement *placement;
    const struct simulation_options *options;
    struct run_rates rates;
    struct run_share share;
    struct run_memory memory;
    struct run_queue queue;
    struct run_links links;
    struct simulation_result *result;
    struct events events;
    /* Tell whoever waits that an end of a message, of which `rest` bytes are left, is complete: of the program, of a
     * modelled collective. */
    void (*message_complete)(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest);
    void (*collective_message_complete)(struct simulation *sim, uint32_t message, enum run_operation_kind side,
                                        double rest);
    /* Tells whoever waits that a member leaves its collective, and the last arrival, at last_s, that it depended on. */
    void (*member_complete)(struct simulation *sim, uint32_t member, double last_s, const struct run_moment *last);
    /* Tell a rank that messages need its processor while it waits, and that none does any more. */
    void (*rank_wanted)(struct simulation *sim, uint32_t rank);
    void (*rank_unwanted)(struct simulation *sim, uint32_t rank);
    uint32_t active; /* the strand that goes on now */
    struct strand *strands;
    size_t n_begun, n_done; /* strands */
    double between_s;       /* from ends of bursts to the begins of the next ones */
    uint32_t *state_of;     /* [program->n_messages] number of its state, from 1 on; 0: not begun; MESSAGE_IS_OVER */
    struct message_state *states;
    struct run_numbers state_numbers;
    const struct run_message *told; /* the program's messages, or those of merged */
    struct run_message *merged;     /* with all bytes of a partitioned message in its last piece; NULL: none is so */
    struct transfer *transfers;
    struct run_numbers transfer_numbers;
    struct run_ahead *ahead; /* room for run_backlog.c */
    size_t ahead_room;
    struct rank_state *ranks;
    struct member_state *members;
    struct collective_state *collectives;
    bool no_level; /* a message of a modelled collective is at a level that the machine lacks: missing_level */
    enum level missing_level;
};

/* Returns where the strand is that goes on now. */
static inline struct run_moment simulation_moment(const struct simulation *sim)
{
    return (struct run_moment){sim->active, (uint32_t)sim->strands[sim->active].step, sim->events.now_s};
}

/* run_message.c: messages of the program and of modelled collectives on their way, from their posts to their ends. */

/* Gives all bytes of partitioned messages to their last pieces, where the MPI sends none before. */
void simulation_merge_pieces(struct simulation *sim);
/* Return what a message is, of the program or of a modelled collective, and its state, which is valid until the next
 * message begins. */
const struct run_message *message_told(const struct simulation *sim, uint32_t message);
struct message_state *message_state(const struct simulation *sim, uint32_t message);
/* Returns the state of a message of the program, which begins if it has not, NULL where it is over. */
struct message_state *message_begin(struct simulation *sim, uint32_t message);
/* Returns the state of one that begins. */
struct message_state message_state_new(struct simulation *sim, const struct run_message *told);
/* Notes in options->message_s what a message took whose receive a wait has completed. */
void message_note_seconds(struct simulation *sim, uint32_t message);
bool message_is_rendezvous(const struct simulation *sim, uint32_t message);
/* Takes note of a post that follows, where queues are searched. Returns for how long the rank searches. */
double message_search(struct simulation *sim, uint32_t message, enum run_operation_kind side);
void message_post(struct simulation *sim, uint32_t message, enum run_operation_kind side);
/* Says whether that end is complete; else the strand is told when it is. */
bool message_await(struct simulation *sim, uint32_t message, enum run_operation_kind side, uint32_t strand);
/* Returns when a probe sees the message, or NaN: then the strand goes on by itself. */
double message_seen_s(struct simulation *sim, uint32_t message, uint32_t strand);
/* Lets a message, or its announcement, arrive at a rank that searches its queues. */
void message_arrives(struct simulation *sim, uint32_t message);

/* Handles EVENT_TRANSFER. */
void transfer_event(struct simulation *sim, uint32_t transfer);
/* Takes a mark that run_share_take gave. */
void transfer_mark(struct simulation *sim, uint32_t mark);
/* Returns how long it has stopped for want of a rank inside MPI. */
double transfer_stalled_s(const struct simulation *sim, const struct transfer *transfer);
/* Says whether a message has a handshake that is made step by step. */
bool handshake_has_steps(const struct simulation *sim, uint32_t message);
/* Returns the latency of a step. */
double handshake_step_s(const struct simulation *sim, const struct transfer *transfer);

/* Lets messages that need a rank move or stop, as it has entered or left MPI, got or lost a processor there. */
void rank_changes(struct simulation *sim, uint32_t rank);
/* Says whether a message needs the rank's processor, or will once the rank has it. */
bool rank_copies(const struct simulation *sim, uint32_t rank);
/* Lets a rank that begins to wait take what has arrived. */
void rank_polls(struct simulation *sim, uint32_t rank);

/* run_backlog.c: what stands before a network card, and how long others wait for it. */

/* Says whether the queues of network cards count. */
bool backlog_counts(const struct simulation *sim);
/* Returns how long what is sent from one rank to another waits for the network card of its node, as things are now.
 * Sets behind to the transfer of the same ranks that it stands behind until that is through, RUN_NOBODY without one. */
double backlog_s(struct simulation *sim, uint32_t src, uint32_t dst, uint32_t *behind);

/* run_collective.c: collectives of recorded length, and those that go by messages. */

void collectives_init(struct simulation *sim);
void collectives_release(struct simulation *sim);
/* Says whether the collective is one that goes by messages. */
bool collective_is_modelled(const struct simulation *sim, uint32_t collective);
void member_arrives(struct simulation *sim, uint32_t member);
/* Says whether the member may leave; else the strand is told when it may. */
bool member_await(struct simulation *sim, uint32_t member, uint32_t strand);
/* Handles EVENT_MEMBER: a member leaves, or makes its next post. */
void member_event(struct simulation *sim, uint32_t member);
/* Is simulation.collective_message_complete: an end of a message of a modelled collective is complete. */
void collective_message_complete(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest);

/* run_strand.c: the threads of all ranks: each goes through its steps until it must wait for something. */

/* Puts every strand of a burst at its begin; the burst before is over. */
void strands_begin(struct simulation *sim, uint32_t burst);
/* Handle EVENT_STRAND, EVENT_TURN. */
void strand_event(struct simulation *sim, uint32_t strand);
void strand_turn_event(struct simulation *sim, uint32_t strand);
/* Are simulation.message_complete, member_complete. */
void strand_message_complete(struct simulation *sim, uint32_t message, enum run_operation_kind side, double rest);
void strand_member_complete(struct simulation *sim, uint32_t member, double last_s, const struct run_moment *last);
/* Are simulation.rank_wanted, rank_unwanted. */
void strands_wanted(struct simulation *sim, uint32_t rank);
void strands_unwanted(struct simulation *sim, uint32_t rank);

/* run_cores.c: processors that ranks share where they outnumber them. */

void cores_init(struct simulation *sim);
/* Gives every strand of a burst on a crowded machine a core: the first one of each rank the recorded one, then all
 * others. */
void cores_assign(struct simulation *sim, uint32_t burst);
void cores_release(struct simulation *sim);
/* Lets a strand go on where it was recorded at a step. */
void cores_move(struct simulation *sim, uint32_t strand, uint16_t processor);
/* Gives a strand that begins its core, whoever else has it. */
void cores_take(struct simulation *sim, uint32_t strand);
/* Lets the next one have the core, as the strand must wait or has ended. */
void cores_leave(struct simulation *sim, uint32_t strand);
/* Says whether a strand whose wait is over must wait for its core; then it goes on by itself. */
bool cores_await(struct simulation *sim, uint32_t strand);
/* Says whether a strand may have to wait for a core. */
bool cores_are_shared(const struct simulation *sim, uint32_t strand);
bool cores_have(const struct simulation *sim, uint32_t strand);
/* Lets a strand that waits in MPI have its core, for messages, when its turn comes; EVENT_TURN says so. */
void cores_want(struct simulation *sim, uint32_t strand);
void cores_turn(struct simulation *sim, uint32_t strand);
/* Lets a strand compute for so long of a core that others may share. Returns false where it has one for itself, or its
 * computation holds that of others. */
bool cores_compute(struct simulation *sim, uint32_t strand, double seconds);
/* Returns how long the strand took, or -1 where it is not done yet. */
double cores_computed(struct simulation *sim, uint32_t strand);

/* run_account.c: what a wait consisted of (share/doc/MODELS.md, Whole run, Where the time goes). */

/* Divide the strand's wait into its parts. It ends now: with that end of the message, of which `rest` bytes are left,
 * or with a collective, of which the last arrival was at last_s. */
void account_message(const struct simulation *sim, struct strand *strand, uint32_t message,
                     enum run_operation_kind side, double rest);
void account_member(const struct simulation *sim, struct strand *strand, double last_s, const struct run_moment *last);
void account_wait(struct simulation *sim, uint32_t place, const struct wait_parts *parts);
/* Adds time inside MPI to the window in which the strand's step was. */
void account_window(struct simulation *sim, uint32_t strand, uint32_t place, double message_s, double collective_s);

#endif
