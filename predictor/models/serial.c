/* serial is the staircase whose receivers within a node take one message after another.
 *
 * The model is ours. It changes the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023,
 * equations 5-9 and 12-18: T) where a message within a node is one copy, made by its receiver in one call (CMA's
 * process_vm_readv, XPMEM, KNEM). T9 lets all messages to a rank advance evenly, so that short ones are delivered
 * early. Here they wait for each other, in an order that nobody knows before. All that one rank sends to one other is a
 * block k in that order, since its sender waits for the last of them; a block comes first, last, or anywhere between,
 *
 *   a_k     when k is delivered if it is the first: c_d(a_k) = b_k
 *   h_k     if half of the others come before it: c_d(h_k) = (b_k + V_d) / 2
 *   e_k     if it is the last: t_d^recv, T7 or T14
 *   P_k(t)  share of the orders in which k is delivered by t; of m blocks to d it is
 *             1/m  in which k is the first, from a_k on
 *             1/m  in which k is the last, from e_k on
 *             the others: none at a_k, half at h_k, all at e_k, linear between
 *   T_i     M_i tau + the mean over the orders of max(t_i^recv, deliveries of i's blocks)
 *           = M_i tau + E - integral from L to E of the product of all P_k(t) dt
 *
 *   c_d(t)  bytes that rank d has received by t, of V_d        staircase_mix_bandwidth  B
 *   b_k     bytes of block k, to rank d                        serial.blocks            B
 *   L       largest of t_i^recv and a_k of i's blocks                                   s
 *   E       largest of t_i^recv and e_k                                                 s
 *
 * This takes the orders of different receivers for independent of each other. A block of short and eager messages alone
 * is over at once for its sender. Messages between nodes follow the staircase. Where every rank receives from one
 * other, serial is the staircase. The integral is computed by Gauss and Legendre with 16 points: within 0.1 % in most
 * cases and 2 % in all.
 *
 * On twelve recordings of twelve irregular patterns each, 8 ranks on one node of 2 processors, T11 in medians is:
 *
 *   the staircase       11.2 to 18.8 %, 14.4 in the mean
 *   serial               8.2 to 14.8 %, 11.0 in the mean
 *   replicate errors     9.6 to 16 %
 *
 * The model was found on the first seven, and P_k settled on all: its form was chosen with recordings of that testbed
 * in view.
 *
 * Domain: as the staircase's, single-copy transports. Limits: where both sides copy through shared memory in fragments
 * messages do advance together; the order of posts is not used. Cost: O(M log M), 28 bytes a message within nodes, 16
 * more for each of the rank that receives most. */
#include "predictor/models/staircase.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "predictor/models/model.h"
#include "share/base/memory.h"

static int serial_predict(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    (void)error;
    staircase_predict_parts(SERVICE_SERIAL, input, prediction);
    return 0;
}

const struct model serial_model = {.name = "serial",
                                   .summary = "staircase, within a node one message after another",
                                   .latency_side = true,
                                   .predict = serial_predict};

/* LOOK_AHEAD counts messages: the sender of a later one is fetched meanwhile. */
enum { POINTS = 16, LOOK_AHEAD = 12 };

/* Stands in half_s of a message that another one of its block stands for. */
static const double JOINED = -1;

/* Is the shortest span worth splitting, as a share of the span from L to E: a shorter one is as good as over when it
 * begins. */
static const double SHORTEST = 1e-12;

/* Holds what a rank waits for. */
struct latest {
    double begin_s, end_s; /* L, E */
    double share[POINTS];  /* the product of P_k at the points between */
};

void serial_init(struct serial *serial, const struct traffic *traffic, unsigned levels)
{
    *serial = (struct serial){.traffic = traffic, .levels = levels};
    size_order_init(&serial->by_receiver, traffic, levels, INCOMING, NULL, traffic->n_ranks);
    serial->times = xmalloc((traffic->pattern->n_messages + 1) * sizeof *serial->times);
    serial->end_share = xcalloc(traffic->n_ranks + 1, sizeof *serial->end_share);
    size_t largest = size_order_largest(&serial->by_receiver) + 1;
    serial->blocks =
        (struct radix_run){xmalloc(2 * largest * sizeof(uint64_t)), xmalloc(2 * largest * sizeof(uint32_t))};
    serial->block_of = xcalloc(traffic->n_ranks + 1, sizeof *serial->block_of);
    serial->spare = (struct radix_run){serial->blocks.key + largest, serial->blocks.id + largest};
}

/* Walks along the steps of a group: when has a rank received so many bytes? */
struct walk {
    size_t step; /* the current one, of n */
    double begin_s, received, bytes_per_s, end_s;
};

static void next_step(struct walk *walk, const struct staircase_mix *mix, struct bandwidth_steps *steps,
                      const struct competitor *competitors, size_t n)
{
    walk->received += (walk->end_s - walk->begin_s) * walk->bytes_per_s;
    walk->begin_s = walk->end_s;
    while (walk->step < n && !(competitors[walk->step].recv_s > walk->begin_s))
        walk->step++; /* this step is finished */
    if (walk->step == n)
        return;
    walk->end_s = competitors[walk->step].recv_s;
    walk->bytes_per_s = staircase_mix_bandwidth(mix, steps, n - walk->step);
}

/* bytes must be no fewer than in the call before, and at most what the receiver gets in all. */
static double walk_to(struct walk *walk, double bytes, const struct competitor *receiver,
                      const struct staircase_mix *mix, struct bandwidth_steps *steps,
                      const struct competitor *competitors, size_t n)
{
    while (walk->step < n && !(bytes <= walk->received + (walk->end_s - walk->begin_s) * walk->bytes_per_s))
        next_step(walk, mix, steps, competitors, n);
    if (walk->step == n) /* rounding may keep it from the end */
        return receiver->recv_s;
    return fmin(walk->begin_s + (bytes - walk->received) / walk->bytes_per_s, receiver->recv_s);
}

/* Says whether it is a send of those levels that is over when it is delivered. */
static bool waits(const struct serial *serial, size_t message)
{
    uint8_t class = serial->traffic->class_of[message];
    return class != NO_CLASS && traffic_class_in(serial->traffic, class, serial->levels) &&
           serial->traffic->pattern->bytes[message] > 0 && !traffic_at_once(serial->traffic, message);
}

/* Finds the blocks that come to one rank, by bytes; returns how many. The largest message of a block stands for it: if
 * its sender waits for any of them, it waits for that one. */
static size_t find_blocks(struct serial *serial, uint32_t receiver)
{
    const struct size_order *order = &serial->by_receiver;
    const uint32_t *src = serial->traffic->pattern->src;
    struct radix_run blocks = serial->blocks;
    size_t j = order->first[receiver], end = order->first[receiver + 1], n = 0;
    while (j < end && order->bytes[j] == 0) /* waits for nothing */
        j++;
    size_t n_messages = end - j;
    for (; j < end; j++) {
        uint32_t message = order->message[j], *of = &serial->block_of[src[message]];
        if (j + LOOK_AHEAD < end)
            __builtin_prefetch(&src[order->message[j + LOOK_AHEAD]]);
        if (*of == 0) {
            blocks.key[n] = order->bytes[j];
            blocks.id[n] = message;
            *of = (uint32_t)++n;
            continue;
        }
        size_t block = *of - 1;
        if (__builtin_add_overflow(blocks.key[block], order->bytes[j], &blocks.key[block]))
            blocks.key[block] = UINT64_MAX;
        serial->times[blocks.id[block]].half_s = JOINED;
        blocks.id[block] = message;
    }
    for (size_t i = 0; i < n; i++)
        serial->block_of[src[blocks.id[i]]] = 0;
    if (n < n_messages)
        radix_sort(blocks, n, serial->spare);
    return n;
}

/* Finds a_k and h_k of the blocks to one rank. */
static void find_times(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                       size_t n, const struct competitor *receiver)
{
    const struct staircase_mix mix = staircase_mix_of(serial->traffic, serial->levels, receiver->rank);
    struct walk first = {0}, half = {0};
    size_t n_blocks = find_blocks(serial, receiver->rank);
    next_step(&first, &mix, steps, competitors, n);
    half = first;
    serial->end_share[receiver->rank] = n_blocks > 1 ? 1 / (double)n_blocks : 0;
    for (size_t i = 0; i < n_blocks; i++) {
        double bytes = (double)serial->blocks.key[i], middle = (bytes + receiver->volume) / 2;
        serial->times[serial->blocks.id[i]] =
            (struct serial_times){walk_to(&first, bytes, receiver, &mix, steps, competitors, n),
                                  walk_to(&half, middle, receiver, &mix, steps, competitors, n)};
    }
}

void serial_receive(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        find_times(serial, steps, competitors, n, &competitors[i]);
}

/* Finds L and E, and what a rank waits for longest in half of the orders. half_s of what does not wait is JOINED from
 * then on, too. */
static void find_ends(const struct serial *serial, const double *recv_s, struct latest *latest, struct critical *sends)
{
    const struct pattern *pattern = serial->traffic->pattern;
    for (size_t rank = 0; rank < serial->traffic->n_ranks; rank++) {
        latest[rank].begin_s = latest[rank].end_s = recv_s[rank];
        sends[rank] = (struct critical){.at_s = recv_s[rank], .bytes = INFINITY};
    }
    for (size_t k = 0; k < pattern->n_messages; k++) {
        if (!waits(serial, k) || serial->times[k].half_s < 0) {
            serial->times[k].half_s = JOINED;
            continue;
        }
        double first_s = serial->times[k].first_s, last_s = recv_s[pattern->dst[k]];
        struct latest *of = &latest[pattern->src[k]];
        of->begin_s = fmax(of->begin_s, first_s);
        of->end_s = fmax(of->end_s, last_s);
        critical_take(&sends[pattern->src[k]], &(struct critical){.at_s = serial->times[k].half_s,
                                                                  .bytes = DBL_MAX,
                                                                  .message = (uint32_t)k,
                                                                  .way = pattern->dst[k]});
    }
}

/* Forms the products of all P_k, at the points[POINTS] between L, 0, and E, 1. */
static void find_shares(const struct serial *serial, const double *recv_s, const double *points, struct latest *latest)
{
    const struct pattern *pattern = serial->traffic->pattern;
    for (size_t rank = 0; rank < serial->traffic->n_ranks; rank++)
        for (size_t p = 0; p < POINTS; p++)
            latest[rank].share[p] = 1;
    for (size_t k = 0; k < pattern->n_messages; k++) {
        struct latest *of = &latest[pattern->src[k]];
        double last_s = recv_s[pattern->dst[k]];
        if (serial->times[k].half_s < 0 || !(last_s > of->begin_s))
            continue;
        /* These are places on the scale from L, 0, to E, 1. */
        double between_s = of->end_s - of->begin_s, half = (serial->times[k].half_s - of->begin_s) / between_s;
        double first = (serial->times[k].first_s - of->begin_s) / between_s, last = (last_s - of->begin_s) / between_s;
        double at_end = serial->end_share[pattern->dst[k]];
        double early_rate = 0.5 / fmax(half - first, SHORTEST), late_rate = 0.5 / fmax(last - half, SHORTEST);
        for (size_t p = 0; p < POINTS; p++) {
            double early = (points[p] - first) * early_rate, late = (points[p] - half) * late_rate;
            early = early < 0.5 ? early : 0.5;
            late = late < 0.5 ? late : 0.5;
            double between = early + (late > 0 ? late : 0);
            of->share[p] *= between < 1 ? at_end + (1 - 2 * at_end) * between : 1;
        }
    }
}

/* Sets the points and weights of Gauss and Legendre's rule over [0, 1]: the zeros of the Legendre polynomial, by
 * Newton's method (Abramowitz and Stegun 25.4.29). */
static void gauss_points(double points[POINTS], double weights[POINTS])
{
    for (int i = 0; i < POINTS; i++) {
        double x = -cos(M_PI * (i + 0.75) / (POINTS + 0.5)), slope = 0;
        for (double step = 1; fabs(step) > 1e-15;) {
            double value = 1, before = 0;
            for (int n = 1; n <= POINTS; n++) {
                double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
                before = value;
                value = next;
            }
            slope = POINTS * (x * value - before) / (x * x - 1);
            step = value / slope;
            x -= step;
        }
        points[i] = (1 + x) / 2;
        weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

void serial_delivery(struct serial *serial, const double *recv_s, struct critical *sends)
{
    size_t n_ranks = serial->traffic->n_ranks;
    double points[POINTS], weights[POINTS];
    size_order_release(&serial->by_receiver);
    struct latest *latest = xmalloc((n_ranks + 1) * sizeof *latest);
    gauss_points(points, weights);
    find_ends(serial, recv_s, latest, sends);
    find_shares(serial, recv_s, points, latest);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        sends[rank].at_s = latest[rank].end_s;
        for (size_t p = 0; p < POINTS && latest[rank].end_s > latest[rank].begin_s; p++)
            sends[rank].at_s -= (latest[rank].end_s - latest[rank].begin_s) * weights[p] * latest[rank].share[p];
    }
    free(latest);
}

void serial_release(struct serial *serial)
{
    size_order_release(&serial->by_receiver);
    free(serial->times);
    free(serial->end_share);
    free(serial->blocks.key);
    free(serial->blocks.id);
    free(serial->block_of);
    *serial = (struct serial){0};
}
