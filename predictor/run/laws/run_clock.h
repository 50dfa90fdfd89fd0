/* Keeps how far the messages under way are, on clocks that go at the rates that a law sets.
 *
 * Messages that always have the same rate are a *bundle*: those to one receiver, or those between two nodes. One
 * number, the bytes that each message of the bundle has got, says how far all are, and a message has a mark on it
 * where it is through. Where rates of its messages differ, but their ratios stay, they have weights. Where they move
 * one after another, the first one has a mark and the others wait. Bundles whose rates change together are a *group*
 * with a clock: a bundle's number grows by its speed with the clock. Where the receivers of a group share evenly,
 * the clock counts the bytes of a receiver, and a message that comes or goes concerns its own bundle and the rate of
 * the clock alone: O(log n). Otherwise the clock counts seconds, and all bundles of the group, or of the NICs that
 * the message passes, get new speeds. */
#ifndef MPISTAIR_PREDICTOR_RUN_CLOCK_H
#define MPISTAIR_PREDICTOR_RUN_CLOCK_H

#include "share/base/heap.h"
#include "predictor/pattern/group.h"
#include "predictor/run/laws/run_choice.h"
#include "predictor/run/laws/run_memory.h"
#include "predictor/run/laws/run_rates.h"
#include "share/base/map.h"

/* Describes a message under way, by the number that it has. */
struct run_moving {
    double end;        /* mark on its bundle at which it is through */
    double weight;     /* bytes that it gets while its bundle's number grows by 1 */
    double rest;       /* bytes that were left when it was marked last, or are while it waits for its turn */
    double room_bytes; /* its second mark: so many are left */
    double begun_s;    /* when it began first */
    uint32_t order;    /* of messages that began at the same time */
    uint32_t class;
    uint32_t bundle;
    uint32_t n_marks; /* that have not come up */
    uint32_t place;   /* in its cohort, or RUN_NO_MOVING */
};

struct run_bundle {
    uint32_t group;
    uint32_t src_node, dst_node; /* of a bundle between two nodes, numbers of the grouping */
    uint32_t n;                  /* messages */
    double weight;               /* of all of them */
    uint32_t of_class[RUN_MAX_CLASSES];
    double through; /* bytes that each message has got since the bundle was last empty, when the clock was `at` */
    double at;
    double law_speed;  /* bytes a message per unit of the clock, by the law */
    double keeps;      /* what is left of that beside computation; 1 where it does not contend */
    double speed;      /* their product */
    uint32_t socket;   /* the receiver's, number of the grouping, where it contends; else RUN_NO_SOCKET */
    double flow;       /* bytes per second that its NICs have been told of */
    struct heap marks; /* 2 m where message m is through, 2 m + 1 where it has no more than its room_bytes left */
    uint32_t head;     /* the only one that moves where messages move one after another, or RUN_NO_MOVING */
    uint32_t *waiting; /* [n_waiting] a heap of those behind it */
    size_t n_waiting, waiting_room;
};

struct run_group {
    double clock, since_s;
    double rate;         /* units of the clock per second */
    struct heap bundles; /* those with messages, by the reading of the clock at their next mark */
    uint32_t n;          /* messages */
    uint32_t of_class[RUN_MAX_CLASSES];
    size_t only_class; /* the class of all messages where they share evenly, else RUN_NO_CLASS */
};

/* Describes one direction of a node's NIC. */
struct run_nic {
    uint32_t n;                       /* messages */
    uint32_t n_ranks;                 /* that have a message there */
    double weight;                    /* of all messages */
    double of_class[RUN_MAX_CLASSES]; /* weight of those of a class */
    double rate;                      /* of a message of weight 1, where that is the same for all classes */
    uint32_t *bundles;                /* that ever passed it */
    size_t n_bundles;
    double missing_bytes; /* until its token bucket is full, at since_s */
    double since_s;
    double flow; /* bytes per second that pass */
    bool is_empty;
};

/* Holds the messages of a group that began at the same moment, the last one at which any did. Their rates depend on how
 * many bundles have messages then. */
struct run_cohort {
    double since_s;
    uint32_t *members;
    size_t n, room;
    bool unsettled;
};

struct run_share {
    const struct run_law_row *law;
    const struct run_rates *rates;
    const struct placement *placement;
    struct grouping sockets, nodes;
    struct run_memory *memory; /* borrowed; NULL: computation takes nothing from messages */
    struct run_group *groups;  /* sockets, nodes, sockets for messages of other sockets, then one for all */
    size_t n_groups;
    struct heap next; /* groups that have messages, by the time of their next mark */
    struct run_bundle *bundles;
    size_t n_bundles, bundles_room, places_room;
    size_t *places; /* of a bundle in its group's heap */
    struct map bundle_of;
    struct map connections;    /* (sender, receiver) to its number */
    double *carried;           /* [connection] bytes that are through */
    struct run_moving *moving; /* by number */
    size_t moving_room;
    struct run_cohort *cohorts; /* [n_groups] */
    uint32_t *unsettled;        /* [n_unsettled] groups */
    size_t n_unsettled;
    struct run_nic *nics; /* [2 * nodes] out, in */
    uint32_t *rank_n;     /* [2 * n_ranks] messages that pass a NIC: out, in */
    struct heap emptied;  /* NICs whose buckets are being emptied, by the time when they are empty */
};

#define RUN_NO_MOVING UINT32_MAX
#define RUN_NO_SOCKET UINT32_MAX

/* Returns what the group's clock shows then. */
double run_clock_at(const struct run_group *group, double now_s);
/* Brings the clock up to now; it starts from 0 where nothing moves. */
void run_clock_advance(struct run_group *group, double now_s);
void run_bundle_catch_up(const struct run_group *group, struct run_bundle *bundle);
/* Marks where a message of which `rest` is left will be through, with its weight; its bundle is up to date and must be
 * placed after that. The second takes the marks away. */
void run_moving_mark(struct run_share *share, uint32_t number);
void run_moving_unmark(struct run_share *share, uint32_t number);
/* Returns what is left of a message that is marked. */
double run_moving_rest(const struct run_share *share, uint32_t number, double now_s);
/* Gives a bundle its speed by the law, beside what computation takes; run_bundle_place must follow. */
void run_bundle_set_speed(struct run_share *share, uint32_t number, double speed);
/* Returns the class of a bundle that has one. */
size_t run_bundle_class(const struct run_bundle *bundle);
/* Returns the reading of the group's clock at the bundle's next mark, INFINITY without one. */
double run_bundle_key(const struct run_bundle *bundle);
/* Brings the bundle's place in its group, the group's place among all up to date. */
void run_bundle_place(struct run_share *share, uint32_t number);
void run_group_place(struct run_share *share, uint32_t number);
/* Puts all bundles of a group in order anew, after their speeds were set. */
void run_group_order(struct run_share *share, struct run_group *group);

#endif
