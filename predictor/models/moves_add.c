/* From the moves of the messages to the times of the ranks: each rank's messages in the order in which they begin, once
 * over. Symbols: moves.h. */
#include <math.h>
#include <stdlib.h>

#include "critical.h"
#include "moves.h"

/* The two parts of T18. */
enum part_of_node { BETWEEN_NODES, WITHIN_NODE, NODE_PARTS };

static const unsigned levels_of[NODE_PARTS] = {
    [BETWEEN_NODES] = LEVEL_BIT(LEVEL_INTER_NODE),
    [WITHIN_NODE] = LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
};

static const double ROUNDING = 1e-9; /* completions closer than that share of a message's time are one */

/* A message from one of its ends. */
struct item {
    double begin_s;
    double end_s;
    double tau_s; /* 0: this end does not pay it */
    enum part_of_node part;
    enum direction direction;
    uint32_t message;
};

/* The messages of every rank, by direction; and room for one rank's. */
struct ends {
    size_t *first[DIRECTION_COUNT]; /* [n_ranks + 1] */
    uint32_t *message[DIRECTION_COUNT];
    struct item *items;
};

static void ends_release(struct ends *ends)
{
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        free(ends->first[direction]);
        free(ends->message[direction]);
    }
    free(ends->items);
}

static int ends_init(struct ends *ends, const struct traffic *traffic)
{
    const struct pattern *pattern = traffic->pattern;
    size_t most = 0;
    *ends = (struct ends){0};
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        const uint32_t *end = direction == OUTGOING ? pattern->src : pattern->dst;
        size_t *next = ends->first[direction] = calloc(traffic->n_ranks + 2, sizeof *next); /* shifted while filling */
        ends->message[direction] = malloc((pattern->n_messages + 1) * sizeof *ends->message[direction]);
        if (next == NULL || ends->message[direction] == NULL)
            return -1;
        for (size_t k = 0; k < pattern->n_messages; k++)
            next[end[k] + 2] += traffic->class_of[k] != NO_CLASS;
        for (size_t rank = 0; rank < traffic->n_ranks; rank++)
            next[rank + 2] += next[rank + 1];
        for (size_t k = 0; k < pattern->n_messages; k++)
            if (traffic->class_of[k] != NO_CLASS)
                ends->message[direction][next[end[k] + 1]++] = (uint32_t)k;
    }
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        size_t n = ends->first[INCOMING][rank + 1] - ends->first[INCOMING][rank] + ends->first[OUTGOING][rank + 1] -
                   ends->first[OUTGOING][rank];
        most = n > most ? n : most;
    }
    ends->items = malloc((most + 1) * sizeof *ends->items);
    return ends->items == NULL ? -1 : 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

/* By begin; where all start together they are in order as they come. */
static void sort_items(struct item *items, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (items[i].begin_s < items[i - 1].begin_s) {
            qsort(items, n, sizeof *items, compare_items);
            return;
        }
}

/* A rank's clock. */
struct day {
    double first_post_s, last_post_s;
    double until_s;                 /* to here its time is accounted for */
    double moving_to_s[NODE_PARTS]; /* a message of that part moves to here */
    double moving_s[NODE_PARTS];
    double hidden_s; /* c_i: what a pause may still take */
    double latency_s, skew_s;
};

static void pause_to(struct day *day, double to_s)
{
    double pause_s = to_s - day->until_s;
    if (!(pause_s > 0))
        return;
    double taken_s = day->hidden_s < pause_s ? day->hidden_s : pause_s;
    day->hidden_s -= taken_s;
    day->skew_s += pause_s - taken_s;
    day->until_s = to_s;
}

static void live_through(struct day *day, const struct item *item)
{
    pause_to(day, item->begin_s);
    day->latency_s += item->tau_s;
    day->hidden_s += item->tau_s;
    double from_s = fmax(item->begin_s, day->moving_to_s[item->part]);
    if (!(item->end_s > from_s))
        return;
    double moving_s = item->end_s - from_s, new_s = fmax(item->end_s - day->until_s, 0);
    day->moving_s[item->part] += moving_s;
    day->hidden_s += fmax(moving_s - new_s, 0);
    day->moving_to_s[item->part] = item->end_s;
    day->until_s = fmax(day->until_s, item->end_s);
}

/* The rank's messages into items; first and last post of its own. */
static size_t gather(const struct moves *moves, const struct ends *ends, size_t rank,
                     const enum direction pays[NODE_PARTS], struct day *day)
{
    const struct traffic *traffic = moves->traffic;
    const double *const posts[DIRECTION_COUNT] = {
        [INCOMING] = traffic->pattern->recv_s, [OUTGOING] = traffic->pattern->send_s};
    size_t n = 0;
    day->first_post_s = INFINITY;
    day->last_post_s = -INFINITY;
    for (enum direction direction = INCOMING; direction < DIRECTION_COUNT; direction++)
        for (size_t i = ends->first[direction][rank]; i < ends->first[direction][rank + 1]; i++) {
            size_t k = ends->message[direction][i];
            const struct message_class *class = &traffic->classes[traffic->class_of[k]];
            double post_s = posts[direction] != NULL ? posts[direction][k] : 0;
            struct item item = {.begin_s = moves_begin_s(traffic, k),
                                .end_s = moves->delivered_s[k],
                                .direction = direction,
                                .message = (uint32_t)k};
            item.part = class->level == LEVEL_INTER_NODE ? BETWEEN_NODES : WITHIN_NODE;
            item.tau_s = pays[item.part] == direction ? class->tau_s : 0;
            if (direction == OUTGOING && moves_at_once(traffic, k))
                item.end_s = item.begin_s;
            else if (direction == OUTGOING && moves->sent_s != NULL && item.part == BETWEEN_NODES)
                item.end_s = moves->sent_s[k];
            ends->items[n++] = item;
            day->first_post_s = fmin(day->first_post_s, post_s);
            day->last_post_s = fmax(day->last_post_s, post_s);
        }
    return n;
}

/* Which of its messages' latency a rank pays. */
static enum direction paying_side(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side)
{
    double in_s = traffic_latency_s(traffic, rank, INCOMING, levels);
    double out_s = traffic_latency_s(traffic, rank, OUTGOING, levels);
    return side == LATENCY_OUT || (side == LATENCY_MAX && out_s > in_s) ? OUTGOING : INCOMING;
}

/* What a rank's own bytes would take alone on the way that it waits for last in that part: those of all messages that
 * it receives, or of those that it sends to one receiver. */
static double alone_s(const struct traffic *traffic, const struct item *items, size_t n, enum part_of_node part,
                      const double single[MAX_CLASSES])
{
    const uint32_t *dst = traffic->pattern->dst;
    const struct item *last[DIRECTION_COUNT] = {NULL, NULL};
    double sum_s = 0;
    for (size_t i = 0; i < n; i++) {
        const struct item **of = &last[items[i].direction];
        if (items[i].part == part && (*of == NULL || items[i].end_s > (*of)->end_s ||
                                      (items[i].end_s >= (*of)->end_s && items[i].message < (*of)->message)))
            *of = &items[i];
    }
    const struct item *in = last[INCOMING], *out = last[OUTGOING];
    bool sends = out != NULL && (in == NULL || out->end_s > in->end_s + ROUNDING * (in->end_s - in->begin_s));
    for (size_t i = 0; i < n; i++)
        if (items[i].part == part && items[i].direction == (sends ? OUTGOING : INCOMING) &&
            (!sends || dst[items[i].message] == dst[out->message]))
            sum_s += (double)traffic->pattern->bytes[items[i].message] / single[traffic->class_of[items[i].message]];
    return sum_s;
}

static void add_rank(const struct moves *moves, const struct ends *ends, size_t rank, enum latency_side side,
                     const double single[MAX_CLASSES], struct prediction *prediction)
{
    struct day day = {0};
    enum direction pays[NODE_PARTS];
    for (int part = 0; part < NODE_PARTS; part++)
        pays[part] = paying_side(moves->traffic, rank, levels_of[part], side);
    size_t n = gather(moves, ends, rank, pays, &day);
    if (n == 0)
        return;
    sort_items(ends->items, n);
    day.until_s = day.moving_to_s[BETWEEN_NODES] = day.moving_to_s[WITHIN_NODE] = day.first_post_s;
    for (size_t i = 0; i < n; i++)
        live_through(&day, &ends->items[i]);
    pause_to(&day, day.last_post_s);
    prediction->part_s[PART_LATENCY][rank] += day.latency_s;
    prediction->part_s[PART_SKEW][rank] += day.skew_s;
    for (int part = 0; part < NODE_PARTS; part++)
        prediction_add_transfer(prediction, rank,
                                alone_s(moves->traffic, ends->items, n, (enum part_of_node)part, single),
                                day.moving_s[part]);
}

int moves_add(const struct moves *moves, enum latency_side side, struct prediction *prediction)
{
    struct ends ends;
    double single[MAX_CLASSES];
    int result = ends_init(&ends, moves->traffic);
    traffic_single_bandwidth(moves->traffic, single);
    for (size_t rank = 0; result == 0 && rank < moves->traffic->n_ranks; rank++)
        add_rank(moves, &ends, rank, side, single, prediction);
    ends_release(&ends);
    return result;
}
