/* Replays the queues of a receiver: the order in which its receives were posted is known, when messages arrived is
 * inferred (queue_captured.c).
 *
 * Each queue is an array of places, list by list, in a list in the order in which the entries will come. A place is
 * taken from an entry's coming to its match. A search passes the taken places up to its match, or all in the list:
 * these are prefix sums, which a Fenwick tree keeps in O(log n). So a rank of n messages costs O(n log n), though it
 * passes up to n(n + 1)/2 entries. It is known which message met which receive, so tags are never compared. */
#include "predictor/terms/queue_search.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

/* Sorts by at[0], at[1], then message. */
struct moment {
    double at[2];
    uint32_t message;
};

/* Holds the places of one queue. */
struct queue {
    struct place {
        uint64_t list;
        uint32_t order; /* order in which entries come, over all lists */
        uint32_t message;
    } * places;      /* [n] by list, then order */
    uint32_t *taken; /* [n + 1] Fenwick tree */
    uint32_t *where; /* [n] place of a message */
    uint32_t *order; /* [n] order of a message */
};

/* Holds the incoming messages of a rank, numbered in the order of the pattern. */
struct receiver {
    const struct traffic *traffic;
    enum queue_lists lists;
    uint32_t n;
    const uint32_t *messages;        /* [n] in the pattern */
    struct moment *posts, *arrivals; /* [n] in their order */
    struct queue queues[MACHINE_QUEUE_COUNT];
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    for (int i = 0; i < 2; i++)
        if (x->at[i] < y->at[i] || x->at[i] > y->at[i])
            return x->at[i] < y->at[i] ? -1 : 1;
    return (x->message > y->message) - (x->message < y->message);
}

static int compare_list_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sorts as qsort does, but leaves what is in order, as patterns without times are. */
static void sort(void *base, size_t n, size_t bytes, int (*compare)(const void *, const void *))
{
    const char *at = base;
    for (size_t i = 1; i < n; i++)
        if (compare(at + (i - 1) * bytes, at + i * bytes) > 0) {
            qsort(base, n, bytes, compare);
            return;
        }
}

/* Returns the list of a message, or of its receive: communicator, then its rank, behind receives from any source. */
static uint64_t list_of(const struct receiver *receiver, uint32_t message, bool any_source)
{
    const struct pattern *pattern = receiver->traffic->pattern;
    uint32_t k = receiver->messages[message];
    uint64_t communicator = pattern->match != NULL ? pattern->match[k] >> 1 : 0;
    if (receiver->lists == QUEUE_ONE_LIST)
        return 0;
    return communicator << 33 | (any_source ? 0 : (uint64_t)pattern->src[k] + 1);
}

static bool from_any_source(const struct receiver *receiver, uint32_t message)
{
    const uint32_t *match = receiver->traffic->pattern->match;
    return match != NULL && (match[receiver->messages[message]] & 1) != 0;
}

/* Orders posts and arrivals. Messages of one sender do not overtake each other, whatever their latency. */
static void order_moments(struct receiver *receiver)
{
    const struct traffic *traffic = receiver->traffic;
    const struct pattern *pattern = traffic->pattern;
    const double *post_s = pattern->posted_s != NULL ? pattern->posted_s : pattern->recv_s;
    struct moment *posts = receiver->posts, *arrivals = receiver->arrivals;
    for (uint32_t i = 0; i < receiver->n; i++) {
        uint32_t k = receiver->messages[i];
        posts[i] = (struct moment){.at = {post_s != NULL ? post_s[k] : 0}, .message = i};
        arrivals[i] =
            (struct moment){.at = {pattern->src[k], pattern->send_s != NULL ? pattern->send_s[k] : 0}, .message = i};
    }
    sort(posts, receiver->n, sizeof *posts, compare_moments);
    if (pattern->send_s == NULL) { /* all at once, in the order of the list */
        for (uint32_t i = 0; i < receiver->n; i++)
            arrivals[i].at[0] = 0;
        return;
    }
    sort(arrivals, receiver->n, sizeof *arrivals, compare_moments);
    double last_src = -1, last_s = 0;
    for (uint32_t i = 0; i < receiver->n; i++) {
        double src = arrivals[i].at[0];
        uint32_t k = receiver->messages[arrivals[i].message];
        double arrive_s = arrivals[i].at[1] + traffic->classes[traffic->class_of[k]].tau_s;
        if (src <= last_src && last_s > arrive_s)
            arrive_s = last_s;
        arrivals[i].at[0] = last_s = arrive_s;
        last_src = src;
    }
    sort(arrivals, receiver->n, sizeof *arrivals, compare_moments);
}

/* Empties a queue; moments are in the order in which entries come to it. */
static void queue_clear(const struct receiver *receiver, enum machine_queue which, const struct moment *moments,
                        struct queue *queue)
{
    for (uint32_t i = 0; i < receiver->n; i++) {
        uint32_t message = moments[i].message;
        bool any_source = which == MACHINE_QUEUE_POSTED && from_any_source(receiver, message);
        queue->order[message] = i;
        queue->places[i] =
            (struct place){.list = list_of(receiver, message, any_source), .order = i, .message = message};
    }
    sort(queue->places, receiver->n, sizeof *queue->places, compare_list_places);
    for (uint32_t i = 0; i < receiver->n; i++)
        queue->where[queue->places[i].message] = i;
    memset(queue->taken, 0, (receiver->n + 1) * sizeof *queue->taken);
}

/* Returns how many places are taken before `place`. */
static uint32_t taken_before(const struct queue *queue, uint32_t place)
{
    uint32_t sum = 0;
    for (uint32_t i = place; i > 0; i &= i - 1)
        sum += queue->taken[i];
    return sum;
}

/* Changes a place; change is 1, or UINT32_MAX, which takes 1 away. */
static void change(struct queue *queue, uint32_t n, uint32_t message, uint32_t change)
{
    for (uint32_t i = queue->where[message] + 1; i <= n; i += i & -i)
        queue->taken[i] += change;
}

/* Returns the first place of that list and order, or behind: where such an entry is or would be. */
static uint32_t find_place(const struct queue *queue, uint32_t n, uint64_t list, uint32_t order)
{
    const struct place wanted = {.list = list, .order = order};
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_list_places(&queue->places[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Searches through the lists first .. last, up to the entry of that order; UINT32_MAX means to the end. */
static void search_lists(const struct receiver *receiver, enum machine_queue which, uint64_t first, uint64_t last,
                         uint64_t at, uint32_t order, struct queue_search *result, uint64_t *length)
{
    const struct queue *queue = &receiver->queues[which];
    uint32_t low = find_place(queue, receiver->n, first, 0), high = find_place(queue, receiver->n, last + 1, 0);
    uint32_t end = order == UINT32_MAX ? high : find_place(queue, receiver->n, at, order + 1);
    uint32_t before = taken_before(queue, low);
    result->passed[which] += taken_before(queue, end) - before;
    *length += taken_before(queue, high) - before;
}

static void note_length(struct queue_search *result, enum machine_queue which, uint64_t length)
{
    if (length > result->longest[which])
        result->longest[which] = length;
}

/* Posts a receive: searches the unexpected messages that it could take, then joins the queue of posted ones. */
static void post_receive(struct receiver *receiver, uint32_t message, bool arrived, struct queue_search *result)
{
    struct queue *unexpected = &receiver->queues[MACHINE_QUEUE_UNEXPECTED];
    uint64_t list = list_of(receiver, message, false), first = list, last = list, length = 0;
    if (receiver->lists == QUEUE_BY_SOURCE && from_any_source(receiver, message)) { /* one sender after the other */
        first = list >> 33 << 33;
        last = first + UINT32_MAX + 1;
    }
    search_lists(receiver, MACHINE_QUEUE_UNEXPECTED, first, last, list,
                 arrived ? unexpected->order[message] : UINT32_MAX, result, &length);
    note_length(result, MACHINE_QUEUE_UNEXPECTED, length);
    if (arrived)
        change(unexpected, receiver->n, message, UINT32_MAX);
    else
        change(&receiver->queues[MACHINE_QUEUE_POSTED], receiver->n, message, 1);
}

/* Lets a message arrive: searches the posted receives that could take it, then joins the queue of unexpected ones. */
static void arrive(struct receiver *receiver, uint32_t message, bool posted, struct queue_search *result)
{
    struct queue *queue = &receiver->queues[MACHINE_QUEUE_POSTED];
    uint32_t order = posted ? queue->order[message] : UINT32_MAX;
    uint64_t length = 0;
    for (int any_source = 0; any_source <= (receiver->lists == QUEUE_BY_SOURCE); any_source++) {
        uint64_t list = list_of(receiver, message, any_source);
        search_lists(receiver, MACHINE_QUEUE_POSTED, list, list, list, order, result, &length);
    }
    note_length(result, MACHINE_QUEUE_POSTED, length);
    if (posted)
        change(queue, receiver->n, message, UINT32_MAX);
    else
        change(&receiver->queues[MACHINE_QUEUE_UNEXPECTED], receiver->n, message, 1);
}

static void replay(struct receiver *receiver, struct queue_search *result)
{
    const struct moment *posts = receiver->posts, *arrivals = receiver->arrivals;
    const struct queue *queues = receiver->queues;
    order_moments(receiver);
    queue_clear(receiver, MACHINE_QUEUE_POSTED, posts, &receiver->queues[MACHINE_QUEUE_POSTED]);
    queue_clear(receiver, MACHINE_QUEUE_UNEXPECTED, arrivals, &receiver->queues[MACHINE_QUEUE_UNEXPECTED]);
    for (uint32_t p = 0, a = 0; p < receiver->n || a < receiver->n;) {
        bool posts_next = a == receiver->n || (p < receiver->n && posts[p].at[0] <= arrivals[a].at[0]);
        if (posts_next) {
            uint32_t message = posts[p++].message;
            post_receive(receiver, message, queues[MACHINE_QUEUE_UNEXPECTED].order[message] < a, result);
        } else {
            uint32_t message = arrivals[a++].message;
            arrive(receiver, message, queues[MACHINE_QUEUE_POSTED].order[message] < p, result);
        }
    }
}

/* Makes room for the n messages of the largest rank. */
static void receiver_init(struct receiver *receiver, size_t n)
{
    receiver->posts = xmalloc((n + 1) * sizeof *receiver->posts);
    receiver->arrivals = xmalloc((n + 1) * sizeof *receiver->arrivals);
    for (int which = 0; which < MACHINE_QUEUE_COUNT; which++) {
        struct queue *queue = &receiver->queues[which];
        queue->places = xmalloc((n + 1) * sizeof *queue->places);
        queue->taken = xmalloc((n + 1) * sizeof *queue->taken);
        queue->where = xmalloc((n + 1) * sizeof *queue->where);
        queue->order = xmalloc((n + 1) * sizeof *queue->order);
    }
}

static void receiver_release(struct receiver *receiver)
{
    for (int which = 0; which < MACHINE_QUEUE_COUNT; which++) {
        struct queue *queue = &receiver->queues[which];
        free(queue->places);
        free(queue->taken);
        free(queue->where);
        free(queue->order);
    }
    free(receiver->posts);
    free(receiver->arrivals);
}

void queue_search(const struct traffic *traffic, enum queue_lists lists, struct queue_search *searches)
{
    const struct pattern *pattern = traffic->pattern;
    struct receiver receiver = {.traffic = traffic, .lists = lists};
    size_t largest = 0;
    memset(searches, 0, traffic->n_ranks * sizeof *searches);
    size_t *first = xcalloc(traffic->n_ranks + 2, sizeof *first); /* first message of a rank, two places behind while
                                                                  * filled */
    uint32_t *messages = xmalloc((pattern->n_messages + 1) * sizeof *messages);
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (traffic->class_of[k] != NO_CLASS)
            first[pattern->dst[k] + 2]++;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        largest = first[rank + 2] > largest ? first[rank + 2] : largest;
        first[rank + 2] += first[rank + 1];
    }
    for (size_t k = 0; k < pattern->n_messages; k++)
        if (traffic->class_of[k] != NO_CLASS)
            messages[first[pattern->dst[k] + 1]++] = (uint32_t)k;
    receiver_init(&receiver, largest);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        receiver.messages = messages + first[rank];
        receiver.n = (uint32_t)(first[rank + 1] - first[rank]);
        replay(&receiver, &searches[rank]);
    }
    receiver_release(&receiver);
    free(messages);
    free(first);
}
