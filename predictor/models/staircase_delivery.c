/* Computes when each message is delivered: the messages are put together by receiver and sorted by size. staircase.c
 * has the symbols. Papers are named as in share/doc/MODELS.md. */
#include "predictor/pattern/size_order.h"
#include "predictor/models/staircase_steps.h"

/* Tells the senders of one receiver's messages when each is delivered. */
static void deliver(const struct size_order *order, uint32_t receiver, const uint32_t *src, double recv_s,
                    struct critical *sends)
{
    size_t begin = order->first[receiver], end = order->first[receiver + 1];
    double volume = 0; /* V_i */
    for (size_t j = begin; j < end; j++)
        volume += (double)order->bytes[j];
    if (!(volume > 0))
        return;
    double delivered_s = 0;
    uint64_t before = 0; /* s_{i,j-1} */
    for (size_t j = begin; j < end; j++) {
        /* T9: t_j = t_{j-1} + (M_i - j) (s_j - s_{j-1}) / V_i t_i^recv. */
        delivered_s += (double)(end - j) * (double)(order->bytes[j] - before) / volume * recv_s;
        before = order->bytes[j];
        critical_take(&sends[src[order->message[j]]], &(struct critical){.at_s = delivered_s,
                                                                         .bytes = (double)order->bytes[j],
                                                                         .message = order->message[j],
                                                                         .way = receiver});
    }
}

int staircase_delivery(const struct traffic *traffic, unsigned levels, const double *recv_s, struct critical *sends)
{
    struct size_order order;
    if (size_order_init(&order, traffic, levels, INCOMING, NULL, traffic->n_ranks) != 0)
        return -1;
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        sends[rank] = (struct critical){0};
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        deliver(&order, (uint32_t)rank, traffic->pattern->src, recv_s[rank], sends);
    size_order_release(&order);
    return 0;
}
