/* Each message counts for its sender and its receiver, at each point where they wait for one of its links. Most
 * messages are through at all points of a rank, or on no way that it waits for: these need one look and not one for
 * each point. */
#include "predictor/models/flow_alone.h"

#include <stdlib.h>

#define SEVERAL_WAYS UINT32_MAX

/* Tells what all points of a rank have in common. */
struct common {
    uint32_t way;   /* that it waits for; SEVERAL_WAYS if they differ */
    double turns;   /* got through at least */
    double alone_s; /* of its messages that are through at all points */
};

/* Describes what a message crosses, and how. */
struct crossing {
    uint32_t out_link, in_link;
    double bytes, of_a_turn, bytes_per_s;
};

static struct common find_common(const struct critical *latest, size_t n_points)
{
    struct common common = {.way = latest->way, .turns = latest->bytes};
    for (size_t p = 1; p < n_points; p++) {
        if (latest[p].way != common.way)
            common.way = SEVERAL_WAYS;
        common.turns = fmin(common.turns, latest[p].bytes);
    }
    return common;
}

/* Adds what the message would take alone, where the rank's latest[n_points] waits for one of its links: to
 * alone_s[n_points], or once for all points where it is through at all of them. */
static void add_message(const struct crossing *message, const struct critical *latest, size_t n_points,
                        struct common *common, double *alone_s)
{
    bool same = common->way == message->out_link || common->way == message->in_link;
    if (same && message->bytes <= common->turns * message->of_a_turn)
        common->alone_s += message->bytes / message->bytes_per_s;
    else if (same || common->way == SEVERAL_WAYS)
        for (size_t p = 0; p < n_points; p++)
            if (latest[p].way == message->out_link || latest[p].way == message->in_link)
                alone_s[p] += fmin(message->bytes, latest[p].bytes * message->of_a_turn) / message->bytes_per_s;
}

static void add_messages(const struct flow_waits *waits, struct common *common, double *alone_s)
{
    const struct traffic *traffic = waits->traffic;
    const struct pattern *pattern = traffic->pattern;
    const struct critical *latest = waits->latest;
    size_t n = waits->n_points;
    double single[MAX_CLASSES];
    traffic_single_bandwidth(traffic, single);
    for (size_t k = 0; k < pattern->n_messages; k++) {
        uint8_t class = traffic->class_of[k];
        if (class == NO_CLASS || traffic->classes[class].level != LEVEL_INTER_NODE)
            continue;
        uint32_t src = pattern->src[k], dst = pattern->dst[k];
        double bytes = (double)pattern->bytes[k];
        const struct crossing message = {flow_link(waits->node_of[src], OUTGOING),
                                         flow_link(waits->node_of[dst], INCOMING), bytes,
                                         flow_limited(waits->packet, bytes), single[class]};
        add_message(&message, &latest[src * n], n, &common[src], &alone_s[src * n]);
        add_message(&message, &latest[dst * n], n, &common[dst], &alone_s[dst * n]);
    }
}

double *flow_alone(const struct flow_waits *waits)
{
    size_t n_ranks = waits->traffic->n_ranks, n = waits->n_points;
    struct common *common = malloc((n_ranks + 1) * sizeof *common);
    double *alone_s = calloc(n * n_ranks + 1, sizeof *alone_s);
    if (common != NULL && alone_s != NULL) {
        for (size_t rank = 0; rank < n_ranks; rank++)
            common[rank] = find_common(&waits->latest[rank * n], n);
        add_messages(waits, common, alone_s);
        for (size_t i = 0; i < n * n_ranks; i++)
            alone_s[i] += common[i / n].alone_s;
    } else {
        free(alone_s);
        alone_s = NULL;
    }
    free(common);
    return alone_s;
}
