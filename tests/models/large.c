/* Makes the ranks of a node differ as those of a real job (large.h). Rank x of a node's 128 (x from 0 to 1) has a share
 * of its messages that falls as (1 - x)^(p - 1), where p is the largest rank's multiple of the mean. Sizes are even in
 * their logarithm over four decades from 3.15 bytes on: mean 3.15 (1e4 - 1) / ln 1e4 = 3,420 bytes. */
#include "tests/models/large.h"

#include <math.h>

enum { RANKS_A_NODE = 128, RANKS_A_SOCKET = 64, LARGEST = 1235 };

/* Returns how many messages of a node ranks before the one at this place send. */
static size_t messages_before(size_t place, size_t messages_of_node)
{
    const double p = (double)LARGEST * LARGE_RANKS / LARGE_MESSAGES;
    return (size_t)((1 - pow(1 - (double)place / RANKS_A_NODE, p)) * (double)messages_of_node);
}

static uint32_t partner(struct chance *chance, uint32_t src, size_t n_ranks)
{
    uint64_t of_1000 = chance_below(chance, 1000);
    uint32_t socket = src / RANKS_A_SOCKET * RANKS_A_SOCKET, dst;
    if (of_1000 < 748)
        dst = socket + (uint32_t)chance_below(chance, RANKS_A_SOCKET);
    else if (of_1000 < 748 + 80)
        dst = (socket ^ RANKS_A_SOCKET) + (uint32_t)chance_below(chance, RANKS_A_SOCKET);
    else
        dst = (uint32_t)chance_below(chance, n_ranks);
    return dst != src ? dst : src ^ 1;
}

static void shuffle(struct pattern *pattern, struct chance *chance)
{
    for (size_t i = pattern->n_messages; i > 1; i--) {
        size_t j = chance_below(chance, i);
        struct case_message swap = {pattern->src[i - 1], pattern->dst[i - 1], pattern_bytes(pattern, i - 1)};
        pattern->src[i - 1] = pattern->src[j];
        pattern->dst[i - 1] = pattern->dst[j];
        pattern_set_bytes(pattern, i - 1, pattern_bytes(pattern, j));
        pattern->src[j] = swap.src;
        pattern->dst[j] = swap.dst;
        pattern_set_bytes(pattern, j, swap.bytes);
    }
}

void large_pattern(struct model_case *c, size_t n_ranks, bool shuffled)
{
    struct chance chance = {.state = 6};
    const size_t all_nodes = LARGE_RANKS / RANKS_A_NODE;
    case_place(c, n_ranks, NULL, NULL);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        size_t node = rank / RANKS_A_NODE, place = rank % RANKS_A_NODE;
        size_t of_node = LARGE_MESSAGES * (node + 1) / all_nodes - LARGE_MESSAGES * node / all_nodes;
        c->placement.node[rank] = (uint32_t)node;
        c->placement.socket[rank] = (uint32_t)(place / RANKS_A_SOCKET);
        for (size_t i = messages_before(place, of_node); i < messages_before(place + 1, of_node); i++) {
            double bytes = exp(log(3.15) + (double)chance_below(&chance, 100000) / 1e5 * log(1e4));
            case_add(c, (uint32_t)rank, partner(&chance, (uint32_t)rank, n_ranks), (uint64_t)bytes);
        }
    }
    if (shuffled)
        shuffle(&c->pattern, &chance);
}
