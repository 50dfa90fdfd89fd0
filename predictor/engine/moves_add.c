/* Turns the moves of the messages into the times of the ranks, in one pass over all messages in the order in which they
 * begin; each rank has a clock of its own. moves.h has the symbols. */
#include <math.h>
#include <stdlib.h>

#include "predictor/engine/begin_order.h"
#include "predictor/engine/critical.h"
#include "predictor/engine/moves.h"

/* Are the two parts of T18. */
enum part_of_node { BETWEEN_NODES, WITHIN_NODE, NODE_PARTS };

static const unsigned levels_of[NODE_PARTS] = {
    [BETWEEN_NODES] = LEVEL_BIT(LEVEL_INTER_NODE),
    [WITHIN_NODE] = LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
};

static const double ROUNDING = 1e-9; /* completions closer than that share of a message's time are one */

/* Holds the latest end of a rank's messages of a part and direction. */
struct last {
    double end_s, begin_s;
    size_t message; /* NO_MESSAGE: none */
};

static const size_t NO_MESSAGE = SIZE_MAX;

/* Holds a rank's clock. */
struct day {
    double first_post_s, last_post_s;
    double until_s;                 /* its time is accounted for until here */
    double moving_to_s[NODE_PARTS]; /* [part] until here a message of that part moves */
    double moving_s[NODE_PARTS];
    double hidden_s; /* c_i: what a pause may still take */
    double latency_s, skew_s;
    enum direction pays[NODE_PARTS]; /* whose latency it pays */
    struct last last[NODE_PARTS][DIRECTION_COUNT];
};

/* Describes a message from one of its ends. */
struct item {
    double begin_s, end_s;
    double tau_s; /* 0: this end does not pay it */
    enum part_of_node part;
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

/* Keeps the later end; among equal ends that of the first message in the pattern. */
static void take_last(struct last *last, const struct item *item, size_t message)
{
    if (last->message == NO_MESSAGE || item->end_s > last->end_s ||
        (item->end_s >= last->end_s && message < last->message))
        *last = (struct last){item->end_s, item->begin_s, message};
}

static enum part_of_node part_of(const struct traffic *traffic, size_t message)
{
    return traffic->classes[traffic->class_of[message]].level == LEVEL_INTER_NODE ? BETWEEN_NODES : WITHIN_NODE;
}

static void live_message(const struct moves *moves, size_t k, struct day *days)
{
    const struct traffic *traffic = moves->traffic;
    uint8_t class = traffic->class_of[k];
    if (class == NO_CLASS)
        return;
    struct item item = {.begin_s = moves_begin_s(traffic, k), .end_s = *moves_delivered_s(moves, k)};
    item.part = part_of(traffic, k);
    for (enum direction direction = INCOMING; direction < DIRECTION_COUNT; direction++) {
        struct day *day = &days[direction == OUTGOING ? traffic->pattern->src[k] : traffic->pattern->dst[k]];
        if (direction == OUTGOING && moves_at_once(traffic, k))
            item.end_s = item.begin_s;
        else if (direction == OUTGOING && moves->n_times == 2 && item.part == BETWEEN_NODES)
            item.end_s = *moves_sent_s(moves, k);
        item.tau_s = day->pays[item.part] == direction ? traffic->classes[class].tau_s : 0;
        live_through(day, &item);
        take_last(&day->last[item.part][direction], &item, k);
    }
}

/* Returns which of its messages' latency a rank pays: incoming or outgoing. */
static enum direction paying_side(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side)
{
    double in_s = traffic_latency_s(traffic, rank, INCOMING, levels);
    double out_s = traffic_latency_s(traffic, rank, OUTGOING, levels);
    return side == LATENCY_OUT || (side == LATENCY_MAX && out_s > in_s) ? OUTGOING : INCOMING;
}

static void note_post(struct day *day, double post_s)
{
    day->first_post_s = post_s < day->first_post_s ? post_s : day->first_post_s;
    day->last_post_s = post_s > day->last_post_s ? post_s : day->last_post_s;
}

/* Begins all days; first_post_s > last_post_s means that a rank has no message. */
static void begin_days(const struct traffic *traffic, enum latency_side side, struct day *days)
{
    const struct pattern *pattern = traffic->pattern;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        struct day *day = &days[rank];
        *day = (struct day){.first_post_s = INFINITY, .last_post_s = -INFINITY};
        for (int part = 0; part < NODE_PARTS; part++) {
            day->pays[part] = paying_side(traffic, rank, levels_of[part], side);
            day->last[part][INCOMING].message = day->last[part][OUTGOING].message = NO_MESSAGE;
        }
    }
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (traffic->class_of[k] == NO_CLASS)
            continue;
        note_post(&days[pattern->src[k]], pattern->send_s != NULL ? pattern->send_s[k] : 0);
        note_post(&days[pattern->dst[k]], pattern->recv_s != NULL ? pattern->recv_s[k] : 0);
    }
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        struct day *day = &days[rank];
        day->until_s = day->moving_to_s[BETWEEN_NODES] = day->moving_to_s[WITHIN_NODE] = day->first_post_s;
    }
}

/* Says whether a rank waits for a send last in that part. */
static bool waits_for_send(const struct day *day, enum part_of_node part)
{
    const struct last *in = &day->last[part][INCOMING], *out = &day->last[part][OUTGOING];
    return out->message != NO_MESSAGE &&
           (in->message == NO_MESSAGE || out->end_s > in->end_s + ROUNDING * (in->end_s - in->begin_s));
}

/* Computes what a rank's own bytes would take alone on the way that it waits for last in a part: the bytes of all
 * messages that it receives, or of those that it sends to one receiver. alone_s[n_ranks * NODE_PARTS]. */
static void transfer_alone(const struct traffic *traffic, const struct day *days, double *alone_s)
{
    const struct pattern *pattern = traffic->pattern;
    double single[MAX_CLASSES];
    traffic_single_bandwidth(traffic, single);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        for (int part = 0; part < NODE_PARTS; part++)
            alone_s[rank * NODE_PARTS + (size_t)part] =
                waits_for_send(&days[rank], (enum part_of_node)part)
                    ? 0
                    : traffic_transfer_s(traffic, rank, INCOMING, levels_of[part], single);
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (traffic->class_of[k] == NO_CLASS)
            continue;
        enum part_of_node part = part_of(traffic, k);
        const struct day *day = &days[pattern->src[k]];
        if (waits_for_send(day, part) && pattern->dst[day->last[part][OUTGOING].message] == pattern->dst[k])
            alone_s[pattern->src[k] * (size_t)NODE_PARTS + part] +=
                (double)pattern->bytes[k] / single[traffic->class_of[k]];
    }
}

static void end_day(struct day *day, size_t rank, const double alone_s[NODE_PARTS], struct prediction *prediction)
{
    if (!(day->first_post_s <= day->last_post_s))
        return;
    pause_to(day, day->last_post_s);
    prediction->part_s[PART_LATENCY][rank] += day->latency_s;
    prediction->part_s[PART_SKEW][rank] += day->skew_s;
    for (int part = 0; part < NODE_PARTS; part++)
        prediction_add_transfer(prediction, rank, alone_s[part], day->moving_s[part]);
}

int moves_add(const struct moves *moves, enum latency_side side, struct prediction *prediction)
{
    const struct traffic *traffic = moves->traffic;
    uint32_t *order = NULL;
    struct day *days = malloc((traffic->n_ranks + 1) * sizeof *days);
    double *alone_s = malloc((traffic->n_ranks * NODE_PARTS + 1) * sizeof *alone_s);
    int result = days == NULL || alone_s == NULL ? -1 : begin_order(traffic, &order);
    if (result == 0) {
        begin_days(traffic, side, days);
        for (size_t i = 0; i < traffic->pattern->n_messages; i++)
            live_message(moves, order != NULL ? order[i] : i, days);
        transfer_alone(traffic, days, alone_s);
        for (size_t rank = 0; rank < traffic->n_ranks; rank++)
            end_day(&days[rank], rank, alone_s + rank * NODE_PARTS, prediction);
    }
    free(order);
    free(alone_s);
    free(days);
    return result;
}
