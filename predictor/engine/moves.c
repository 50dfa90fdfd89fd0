/* Several models know post times; what they share before the messages move is decided here once. See moves.h. */
#include "predictor/engine/moves.h"

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
    size_t n = traffic->pattern->n_messages, n_times = buffers ? 2 : 1;
    *moves =
        (struct moves){.traffic = traffic, .n_times = n_times, .times_s = malloc((n + 1) * n_times * sizeof(double))};
    if (moves->times_s == NULL)
        return -1;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n_times; i++)
            moves_delivered_s(moves, k)[i] = moves_begin_s(traffic, k);
    return 0;
}

void moves_release(struct moves *moves)
{
    free(moves->times_s);
    *moves = (struct moves){0};
}
