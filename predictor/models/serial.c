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

/* Of a rank. */
struct latest {
    double begin_s, end_s; /* L, E */
    double share[POINTS];  /* the product of P_k at the points between */
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

/* A send of those levels that is over when it is delivered. */
static bool waits(const struct serial *serial, size_t message)
{
    uint8_t class = serial->traffic->class_of[message];
    return class != NO_CLASS && traffic_class_in(serial->traffic, class, serial->levels) &&
           serial->traffic->pattern->bytes[message] > 0 && !moves_at_once(serial->traffic, message);
}

/* L and E, and what a rank waits for longest on the mean. */
static void find_ends(const struct serial *serial, const double *recv_s, struct latest *latest, struct critical *sends)
{
    const struct pattern *pattern = serial->traffic->pattern;
    for (size_t rank = 0; rank < serial->traffic->n_ranks; rank++) {
        latest[rank].begin_s = latest[rank].end_s = recv_s[rank];
        sends[rank] = (struct critical){.at_s = recv_s[rank], .bytes = INFINITY};
    }
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (!waits(serial, k))
            continue;
        double first_s = serial->first_s[k], last_s = recv_s[pattern->dst[k]];
        struct latest *of = &latest[pattern->src[k]];
        of->begin_s = fmax(of->begin_s, first_s);
        of->end_s = fmax(of->end_s, last_s);
        critical_take(&sends[pattern->src[k]], &(struct critical){.at_s = (first_s + last_s) / 2,
                                                                  .bytes = DBL_MAX,
                                                                  .message = (uint32_t)k,
                                                                  .way = pattern->dst[k]});
    }
}

/* The products of all P_k, at the points[POINTS] between L, 0, and E, 1. */
static void find_shares(const struct serial *serial, const double *recv_s, const double *points, struct latest *latest)
{
    const struct pattern *pattern = serial->traffic->pattern;
    for (size_t rank = 0; rank < serial->traffic->n_ranks; rank++)
        for (size_t p = 0; p < POINTS; p++)
            latest[rank].share[p] = 1;
    for (size_t k = 0; k < pattern->n_messages; k++) {
        struct latest *of = &latest[pattern->src[k]];
        double last_s = recv_s[pattern->dst[k]];
        if (!waits(serial, k) || !(last_s > of->begin_s))
            continue;
        double per_s = 1 / (last_s - serial->first_s[k]);
        double at_begin = (of->begin_s - serial->first_s[k]) * per_s, more = (of->end_s - of->begin_s) * per_s;
        for (size_t p = 0; p < POINTS; p++) {
            double delivered = at_begin + more * points[p];
            of->share[p] *= delivered < 1 ? delivered : 1;
        }
    }
}

int serial_delivery(struct serial *serial, const double *recv_s, struct critical *sends)
{
    size_t n_ranks = serial->traffic->n_ranks;
    double points[POINTS], weights[POINTS];
    size_order_release(&serial->by_receiver);
    struct latest *latest = malloc((n_ranks + 1) * sizeof *latest);
    gsl_integration_glfixed_table *table = gsl_integration_glfixed_table_alloc(POINTS);
    int result = latest != NULL && table != NULL ? 0 : -1;
    if (result == 0) {
        for (size_t p = 0; p < POINTS; p++)
            gsl_integration_glfixed_point(0, 1, p, &points[p], &weights[p], table);
        find_ends(serial, recv_s, latest, sends);
        find_shares(serial, recv_s, points, latest);
        for (size_t rank = 0; rank < n_ranks; rank++) {
            sends[rank].at_s = latest[rank].end_s;
            for (size_t p = 0; p < POINTS && latest[rank].end_s > latest[rank].begin_s; p++)
                sends[rank].at_s -= (latest[rank].end_s - latest[rank].begin_s) * weights[p] * latest[rank].share[p];
        }
    }
    if (table != NULL)
        gsl_integration_glfixed_table_free(table);
    free(latest);
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
