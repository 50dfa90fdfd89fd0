/* Lists the laws by which messages that are under way share what is on their way (share/doc/MODELS.md, Whole run,
 * Sharing). A law has a row in run_law.c beside that of its name (run_choice.h). run_share.h is what others use. */
#ifndef MPISTAIR_PREDICTOR_RUN_LAW_H
#define MPISTAIR_PREDICTOR_RUN_LAW_H

#include "predictor/models/flow.h"
#include "predictor/run/laws/run_clock.h"

/* Names a message that moves; the caller gives it a number that no other one has meanwhile. */
struct run_mover {
    uint32_t src, dst;
    uint32_t class;
    uint32_t number;
    uint32_t order; /* see run_moving */
    double begun_s;
    double bytes;    /* of all of it */
    double carried;  /* bytes of its connection that were through when it began */
    uint32_t bundle; /* set by run_share_add */
};

/* Names the messages that may change each other's rates. */
enum run_group_of {
    GROUP_OF_ALL,
    GROUP_OF_RECEIVER,       /* those to its socket; between nodes to its node */
    GROUP_OF_RECEIVER_LEVEL, /* the same, but those of one socket and those between two apart */
    GROUP_OF_SENDER,         /* those from its node */
};
/* Names those of a group that always have the same rate. */
enum run_bundle_of {
    BUNDLE_OF_CLASS,
    BUNDLE_OF_SENDER,
    BUNDLE_OF_RECEIVER,
    BUNDLE_OF_NICS, /* of a class, between two nodes: they share both NICs */
};

/* Says how messages within a node, or between nodes, share what is on their way. */
struct run_path {
    enum run_group_of group;
    enum run_bundle_of bundle;
    /* Sets all rates that change as the message came (1) or went (-1), and the places of the bundles; their group's
     * clock and the message's bundle are up to date. */
    void (*set)(struct run_share *share, const struct run_mover *mover, int change);
    /* Returns the rate that one NIC gives to a message of a class; NULL where messages do not share NICs. */
    double (*nic_rate)(const struct run_share *share, const struct run_nic *nic, const struct run_class *class);
    /* Returns what run_nic.rate becomes as messages came or went; NULL: it is not used. */
    double (*nic_set)(const struct run_share *share, const struct run_nic *nic);
    /* What NICs serve of a message at a time, and how many bytes its transport takes, by what its connection had
     * carried when it began; NULL: all messages alike, by the machine's rows. */
    const struct flow_limit *packet, *room;
    /* Returns what a message of a class that began while n bundles of its group had messages gets as its bundle's
     * number grows by 1, until it ends; NULL where it does not matter when a message began. */
    double (*begun_rate)(const struct run_class *class, size_t n);
    bool in_turn; /* the messages of a bundle move one after another, in the order in which they began */
};

struct run_law_row {
    const struct run_path *within, *between;
    bool by_senders;  /* who receives does not count: the term memory does not go with it */
    bool cards_serve; /* NICs have buckets and queues, by the rows burst and backlog of the machine */
};

extern const struct run_law_row run_laws[LAW_COUNT];

/* Returns the path of messages of a class. */
static inline const struct run_path *run_law_path(const struct run_share *share, size_t class)
{
    return share->rates->classes[class].level == LEVEL_INTER_NODE ? share->law->between : share->law->within;
}

/* Returns the key of a message's bundle, and the number of the group that the bundle is part of. */
struct map_key run_law_bundle(const struct run_share *share, const struct run_mover *mover, uint32_t *group);
/* Returns the socket, number of the grouping, whose computation a message contends with, or RUN_NO_SOCKET. */
uint32_t run_law_socket(const struct run_share *share, const struct run_mover *mover);

/* run_cohort.c: lets rates depend on what was under way when a message began: those that begin at the same moment count
 * for each other, in whatever order they come. */

/* Takes a message that is marked into the cohort of its group. */
void run_cohort_join(struct run_share *share, uint32_t number, double now_s);
/* Takes note that a message goes. */
void run_cohort_leave(struct run_share *share, uint32_t number, double now_s);
/* Gives the messages of this moment their rates, as nothing more happens at it. */
void run_cohort_settle(struct run_share *share);

/* run_nics.c: lets messages between nodes share both NICs on their way, each of which may have a token bucket. What one
 * NIC gives is the law's (run_path.nic_rate). */

/* Is a path's function, set. */
void run_nics_set(struct run_share *share, const struct run_mover *mover, int change);

static inline bool run_nics_have_buckets(const struct run_share *share)
{
    return share->law->cards_serve && share->rates->burst_bytes > 0;
}
/* Takes note that a bundle's speed has changed, where it passes NICs. */
void run_nics_keep(struct run_share *share, struct run_bundle *bundle);
/* Sets the rates that change as the bucket of a NIC, which is no longer among share.emptied, is empty. The clock of
 * what passes NICs is up to date. */
void run_nics_emptied(struct run_share *share, size_t number);
/* Takes bytes that are no message out of the bucket of a NIC. The clock of what passes NICs is up to date. */
void run_nics_drain(struct run_share *share, size_t number, double bytes);
/* Returns how long so many bytes of so many ranks take to pass a NIC. */
double run_nics_pass_s(const struct run_share *share, const struct run_nic *nic, double now_s, double bytes,
                       size_t n_ranks);

#endif
