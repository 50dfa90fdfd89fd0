/* Keeps what each rank's MPI searches: the posted receives that no message has met, and the messages that have arrived
 * without their receive (share/doc/MODELS.md, Whole run, Terms).
 *
 * A message that arrives is searched for among the posted receives, a receive that is posted among the messages. A rank
 * searches one at a time, in the order in which both come. Messages have the caller's numbers, which may be used anew
 * once both ends have met. */
#ifndef MPISTAIR_PREDICTOR_RUN_QUEUE_H
#define MPISTAIR_PREDICTOR_RUN_QUEUE_H

#include <math.h>

#include "calibrate/machine/machine.h"
#include "share/base/heap.h"
#include "share/base/map.h"

/* Holds one queue of a rank in the order in which its entries came. Entries that have gone keep their places until the
 * list is packed; so an entry's position is the number of those that are there up to its place. */
struct run_list {
    uint32_t *entries; /* [n_used] messages, or RUN_QUEUE_GONE */
    uint32_t *sums;    /* [room + 1] Fenwick tree over the places: how many entries are there */
    uint32_t n_used, room;
    uint32_t n; /* entries that are there */
};
#define RUN_QUEUE_GONE UINT32_MAX

struct run_searcher {
    struct run_list lists[MACHINE_QUEUE_COUNT];
    double free_s; /* when the last search that was begun is over */
};

/* Describes a message from its first post on. */
struct run_queued {
    double arrived_s; /* NaN: not yet */
    double found_s;   /* when the search at its arrival was over */
    uint32_t place;   /* in the list of its rank that holds it */
    bool is_posted;
};

/* Is the last message from one rank to another. */
struct run_last {
    double arrival_s;
    uint32_t message;
};

/* What a rank's searches passed: entries, those that matched too, and entries of the longest search, had it matched
 * nothing. */
struct queue_search {
    uint64_t passed[MACHINE_QUEUE_COUNT];
    uint64_t longest[MACHINE_QUEUE_COUNT];
};

struct run_queue {
    const struct machine *machine;
    struct run_searcher *searchers; /* [n_ranks]; NULL: queues are not searched */
    size_t n_ranks;
    struct run_queued *messages;
    size_t messages_room;
    struct heap arrivals; /* messages on their way, by the time of their arrival */
    uint32_t *due;        /* [n_due] of these, what arrives now */
    size_t n_due, due_room;
    struct map pairs;       /* (sender, receiver) to its place in lasts */
    struct run_last *lasts; /* of each pair */
    size_t pairs_room;
    double *step_s[MACHINE_QUEUE_COUNT]; /* c(L) for those L that have been asked for, else -1 */
    size_t step_room[MACHINE_QUEUE_COUNT];
    struct queue_search *searches; /* [n_ranks] what was searched */
};

/* Prepares for that many ranks; searches[n_ranks] is the caller's, all zero. Returns 0, or -1 where the machine's table
 * does not say what a search costs. */
int run_queue_init(struct run_queue *queue, const struct machine *machine, size_t n_ranks,
                   struct queue_search *searches, struct error *error);
void run_queue_release(struct run_queue *queue);

/* Takes note of a message of which no end was posted before. */
void run_queue_begin(struct run_queue *queue, uint32_t message);
/* Lets a message arrive at a time, but not before an earlier one of the same ranks. */
void run_queue_send(struct run_queue *queue, uint32_t message, uint32_t src, uint32_t dst, double arrival_s);
/* Returns when messages arrive next, INFINITY without any. */
static inline double run_queue_next_s(const struct run_queue *queue)
{
    return queue->arrivals.n > 0 ? queue->arrivals.entries[0].key : (double)INFINITY;
}
/* Takes out all messages that arrive next, at one moment: due[n_due], by number. */
void run_queue_take(struct run_queue *queue);
/* Posts the receive of a message. Returns for how long the rank searches, its turn included. */
double run_queue_post(struct run_queue *queue, uint32_t message, uint32_t rank, double now_s);
/* Takes note that a message has arrived at its rank. */
void run_queue_arrive(struct run_queue *queue, uint32_t message, uint32_t rank, double now_s);
bool run_queue_has_arrived(const struct run_queue *queue, uint32_t message);
/* Returns for how long after since_s the search at the message's arrival goes on, its turn included. */
double run_queue_left_s(const struct run_queue *queue, uint32_t message, double since_s);

#endif
