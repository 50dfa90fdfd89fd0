/* See moves.h. */
#include "moves.h"

#include <stdlib.h>

double moves_begin_s(const struct traffic *traffic, size_t message)
{
    const struct pattern *pattern = traffic->pattern;
    double send_s = pattern->send_s != NULL ? pattern->send_s[message] : 0;
    double recv_s = pattern->recv_s != NULL ? pattern->recv_s[message] : 0;
    return recv_s > send_s && !moves_at_once(traffic, message) ? recv_s : send_s;
}

bool moves_at_once(const struct traffic *traffic, size_t message)
{
    uint8_t class = traffic->class_of[message];
    if (class == NO_CLASS)
        return false;
    enum machine_protocol protocol = traffic->classes[class].protocol;
    return protocol == PROTOCOL_SHORT || protocol == PROTOCOL_EAGER;
}

int moves_init(struct moves *moves, const struct traffic *traffic, bool buffers)
{
    size_t n = traffic->pattern->n_messages;
    *moves = (struct moves){.traffic = traffic, .delivered_s = malloc((n + 1) * sizeof *moves->delivered_s)};
    if (buffers)
        moves->sent_s = malloc((n + 1) * sizeof *moves->sent_s);
    if (moves->delivered_s == NULL || (buffers && moves->sent_s == NULL)) {
        moves_release(moves);
        return -1;
    }
    for (size_t k = 0; k < n; k++) {
        moves->delivered_s[k] = moves_begin_s(traffic, k);
        if (buffers)
            moves->sent_s[k] = moves->delivered_s[k];
    }
    return 0;
}

void moves_release(struct moves *moves)
{
    free(moves->delivered_s);
    free(moves->sent_s);
    *moves = (struct moves){0};
}

struct begin {
    double at_s;
    uint32_t message;
};

static int compare_begins(const void *a, const void *b)
{
    const struct begin *x = a, *y = b;
    if (x->at_s < y->at_s || x->at_s > y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    return (x->message > y->message) - (x->message < y->message);
}

/* Each group's messages by begin. 0, or -1 without memory. */
static int sort_begins(struct arrivals *arrivals, const struct traffic *traffic, size_t n_groups)
{
    size_t most = 0;
    for (size_t g = 0; g < n_groups; g++)
        if (arrivals->first[g + 1] - arrivals->first[g] > most)
            most = arrivals->first[g + 1] - arrivals->first[g];
    struct begin *begins = malloc((most + 1) * sizeof *begins);
    for (size_t g = 0; begins != NULL && g < n_groups; g++) {
        uint32_t *message = arrivals->message + arrivals->first[g];
        size_t n = arrivals->first[g + 1] - arrivals->first[g];
        for (size_t i = 0; i < n; i++)
            begins[i] = (struct begin){moves_begin_s(traffic, message[i]), message[i]};
        qsort(begins, n, sizeof *begins, compare_begins);
        for (size_t i = 0; i < n; i++)
            message[i] = begins[i].message;
    }
    free(begins);
    return begins == NULL ? -1 : 0;
}

int arrivals_init(struct arrivals *arrivals, const struct traffic *traffic, unsigned levels,
                  const struct grouping *grouping, enum direction direction)
{
    const struct pattern *pattern = traffic->pattern;
    const uint32_t *end = direction == OUTGOING ? pattern->src : pattern->dst;
    size_t *next = calloc(grouping->n_groups + 2, sizeof *next); /* shifted by one while filling */
    arrivals->first = next;
    arrivals->message = NULL;
    if (next == NULL)
        return -1;
    for (int filling = 0; filling < 2; filling++) {
        for (size_t k = 0; k < pattern->n_messages; k++) {
            uint8_t class = traffic->class_of[k];
            if (class == NO_CLASS || pattern->bytes[k] == 0 || !traffic_class_in(traffic, class, levels))
                continue;
            if (filling)
                arrivals->message[next[grouping->of[end[k]] + 1]++] = (uint32_t)k;
            else
                next[grouping->of[end[k]] + 2]++;
        }
        for (size_t g = 0; !filling && g < grouping->n_groups; g++)
            next[g + 2] += next[g + 1];
        if (!filling)
            arrivals->message = malloc((next[grouping->n_groups + 1] + 1) * sizeof *arrivals->message);
        if (arrivals->message == NULL) {
            arrivals_release(arrivals);
            return -1;
        }
    }
    if ((pattern->send_s != NULL || pattern->recv_s != NULL) &&
        sort_begins(arrivals, traffic, grouping->n_groups) != 0) {
        arrivals_release(arrivals);
        return -1;
    }
    return 0;
}

void arrivals_release(struct arrivals *arrivals)
{
    free(arrivals->first);
    free(arrivals->message);
    *arrivals = (struct arrivals){0};
}
