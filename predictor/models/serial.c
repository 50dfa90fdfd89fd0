/* serial: the staircase, whose receivers within a node take one message after another.
 *
 * Ours; it changes the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023, equations 5-9
 * and 12-18: T) where a message within a node is one copy, made by its receiver in one call (CMA's process_vm_readv,
 * XPMEM, KNEM). T9 lets all messages to a rank advance evenly, so that short ones are delivered early. Here they wait
 * for each other, in an order that nobody knows before: a message comes first, last, or anywhere between,
 *
 *   a_k     when k is delivered if it is the first: c_d(a_k) = b_k
 *   e_k     if it is the last: t_d^recv, T7 or T14
 *   P_k(t)  share of the orders in which k is delivered by t: (t - a_k) / (e_k - a_k), between 0 and 1
 *   T_i     M_i tau + the mean over the orders of max(t_i^recv, deliveries of i's messages)
 *           = M_i tau + E - integral from L to E of the product of all P_k(t) dt
 *
 *   c_d(t)  bytes that rank d has received by t, of V_d        staircase_mix_bandwidth  B
 *   b_k     bytes of message k, to rank d                      pattern.bytes            B
 *   L       largest of t_i^recv and a_k of i's messages                                 s
 *   E       largest of t_i^recv and e_k                                                 s
 *
 * a_k to e_k evenly takes the receiver's rate for constant meanwhile and the orders of different receivers for
 * independent of each other. Sends of short and eager messages are over at once. Messages between nodes: as in the
 * staircase. Where every rank receives one message it is the staircase. The integral: Gauss and Legendre, 16 points,
 * within 0.5 %.
 *
 * On seven recordings of twelve irregular patterns each, 8 ranks on one node of 2 processors, T11 in medians, staircase
 * 15.4, 14.9, 15.6, 13.5, 11.2, 11.8, 13.9 %, this 12.5, 13.1, 10.6, 9.6, 8.3, 10.5, 14.5 %; found on these.
 *
 * Domain: as the staircase's, single-copy transports. Limits: where both sides copy through shared memory in fragments
 * messages do advance together; the order of posts is not used. Cost: O(M log M), 20 bytes a message within nodes. */
#include "serial.h"

#include <float.h>
#include <gsl/gsl_integration.h>
#include <math.h>
#include <stdlib.h>

#include "models.h"
#include "moves.h"

enum { POINTS = 16 };

/* When a message may be delivered: evenly between. */
struct span {
    double first_s, last_s;
};

int serial_init(struct serial *serial, const struct traffic *traffic, unsigned levels)
{
    *serial = (struct serial){.traffic = traffic, .levels = levels};
    if (size_order_init(&serial->by_receiver, traffic, levels, INCOMING, NULL, traffic->n_ranks) != 0)
        return -1;
    serial->first_s = malloc((traffic->pattern->n_messages + 1) * sizeof *serial->first_s);
    if (serial->first_s != NULL)
        return 0;
    serial_release(serial);
    return -1;
}

/* a_k of the messages to one rank, along the steps of its group. */
static void find_first(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                       size_t n, const struct competitor *receiver)
{
    const struct size_order *order = &serial->by_receiver;
    const struct staircase_mix mix = staircase_mix_of(serial->traffic, serial->levels, receiver->rank);
    size_t j = order->first[receiver->rank], end = order->first[receiver->rank + 1];
    double begin_s = 0, received = 0;
    for (size_t i = 0; i < n && j < end; i++) {
        double step_s = competitors[i].recv_s - begin_s;
        if (!(step_s > 0))
            continue; /* finished with the one before */
        double bytes_per_s = staircase_mix_bandwidth(&mix, steps, n - i);
        for (; j < end && (double)order->bytes[j] <= received + step_s * bytes_per_s; j++)
            serial->first_s[order->message[j]] =
                fmin(begin_s + ((double)order->bytes[j] - received) / bytes_per_s, receiver->recv_s);
        received += step_s * bytes_per_s;
        begin_s = competitors[i].recv_s;
    }
    for (; j < end; j++) /* by rounding not reached */
        serial->first_s[order->message[j]] = receiver->recv_s;
}

void serial_receive(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        find_first(serial, steps, competitors, n, &competitors[i]);
}

/* The mean over the orders of the latest of recv_s and the messages. */
static double mean_latest_s(const gsl_integration_glfixed_table *points, const struct span *spans, size_t n,
                            double recv_s)
{
    double begin_s = recv_s, end_s = recv_s; /* L, E */
    for (size_t i = 0; i < n; i++) {
        begin_s = fmax(begin_s, spans[i].first_s);
        end_s = fmax(end_s, spans[i].last_s);
    }
    if (!(end_s > begin_s))
        return end_s;
    double at_s[POINTS], weight[POINTS], share[POINTS];
    for (size_t p = 0; p < POINTS; p++) {
        gsl_integration_glfixed_point(begin_s, end_s, p, &at_s[p], &weight[p], points);
        share[p] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        if (!(spans[i].last_s > begin_s))
            continue;
        double per_s = 1 / (spans[i].last_s - spans[i].first_s);
        for (size_t p = 0; p < POINTS; p++) {
            double delivered = (at_s[p] - spans[i].first_s) * per_s;
            share[p] *= delivered < 1 ? delivered : 1;
        }
    }
    for (size_t p = 0; p < POINTS; p++)
        end_s -= weight[p] * share[p];
    return end_s;
}

/* The sends of one rank, those from begin to end of the order; spans: room for them. */
static struct critical deliver(const struct serial *serial, const struct size_order *order, uint32_t rank,
                               const double *recv_s, const gsl_integration_glfixed_table *points, struct span *spans)
{
    const struct pattern *pattern = serial->traffic->pattern;
    struct critical latest = {.at_s = recv_s[rank], .bytes = INFINITY};
    size_t n = 0;
    for (size_t j = order->first[rank]; j < order->first[rank + 1]; j++) {
        uint32_t message = order->message[j], receiver = pattern->dst[message];
        if (order->bytes[j] == 0 || moves_at_once(serial->traffic, message))
            continue;
        spans[n] = (struct span){serial->first_s[message], recv_s[receiver]};
        critical_take(&latest, &(struct critical){.at_s = (spans[n].first_s + spans[n].last_s) / 2,
                                                  .bytes = DBL_MAX,
                                                  .message = message,
                                                  .way = receiver});
        n++;
    }
    latest.at_s = mean_latest_s(points, spans, n, recv_s[rank]);
    return latest;
}

int serial_delivery(struct serial *serial, const double *recv_s, struct critical *sends)
{
    const struct traffic *traffic = serial->traffic;
    struct size_order order;
    size_order_release(&serial->by_receiver);
    if (size_order_init(&order, traffic, serial->levels, OUTGOING, NULL, traffic->n_ranks) != 0)
        return -1;
    struct span *spans = malloc((size_order_largest(&order) + 1) * sizeof *spans);
    gsl_integration_glfixed_table *points = gsl_integration_glfixed_table_alloc(POINTS);
    int result = spans != NULL && points != NULL ? 0 : -1;
    for (size_t rank = 0; result == 0 && rank < traffic->n_ranks; rank++)
        sends[rank] = deliver(serial, &order, (uint32_t)rank, recv_s, points, spans);
    if (points != NULL)
        gsl_integration_glfixed_table_free(points);
    free(spans);
    size_order_release(&order);
    return result;
}

void serial_release(struct serial *serial)
{
    size_order_release(&serial->by_receiver);
    free(serial->first_s);
    *serial = (struct serial){0};
}

static int serial_predict(const struct pattern *pattern, const struct placement *placement,
                          const struct machine *machine, const struct model_options *options,
                          struct prediction *prediction, struct error *error)
{
    return staircase_predict_parts(SERVICE_SERIAL, pattern, placement, machine, options, prediction, error);
}

const struct model serial_model = {.name = "serial",
                                   .source = "ours: within a node one message after another, T5-T9, T12-T18",
                                   .latency_side = true,
                                   .predict = serial_predict};
