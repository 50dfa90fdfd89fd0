/* staircase lets ranks share a bandwidth evenly and leave it one after the other. With it come serial and
 * staircase-max, which change a part of it.
 *
 * A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, Detailed Modeling of Heterogeneous and Contention-Constrained
 * Point-to-Point MPI Communication, IEEE TPDS 34(5), 2023 (T), equations 5-9 (one level) and 12-18 (levels within a
 * node mixed, total). T5 and T6 are T7 and T8 with one message a rank.
 *
 *   tau              latency of a message                         message_class.tau_s       s
 *   BW_MP(n)         bandwidth shared by n ranks, BW_MP(1)=BW_SP   bandwidth_steps           B/s
 *   N, k             competitors of the group, finished ones      n                         -
 *   V_i, V_i^on/off  incoming bytes of rank i                     competitor.volume         B
 *   theta_i          V_i^on / V_i                                 share, by level           -
 *   M_i              messages of rank i                           traffic.messages          -
 *   s_i,j            bytes of a message                           pattern.bytes             B
 *   t_i^recv         when rank i has received all                 recv_s[i]                 s
 *   t_i,j^recv       when a message is delivered (T9)             deliver_to                s
 *   t_i^send         the latest delivery of i's messages          sends[i].at_s             s
 *   T_i              time of rank i                               prediction.time_s[i]      s
 *
 * With several protocols each message has its own tau, and rank i its own BW_i(n) = V_i / sum_p(V_p / BW_p(n)) at
 * a level.
 * Latency: T8 and T15 print that of the incoming messages; model_options.latency takes the outgoing ones or the larger
 * of the two instead, for the part between nodes and the part within them each.
 *
 * Domain: every rank posts all its messages, then waits (T Algorithm 2); a send is complete when it is delivered, so
 * rendezvous messages. Limits: the sender's side shares nothing; the two parts of T18 do not overlap; order is by size,
 * never by arrival. share/doc/MODELS.md settles what the paper leaves open. */
#include "predictor/models/staircase.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "predictor/models/model.h"
#include "predictor/pattern/group.h"
#include "predictor/pattern/size_order.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/side_by_side.h"

enum {
    LEVELS_BETWEEN = LEVEL_BIT(LEVEL_INTER_NODE),
    LEVELS_WITHIN = LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET)
};

/* Says of a part which levels share a bandwidth, whose it is, and how a receiver serves the messages to it: as in T9,
 * or as in serial. T18 adds two of them: T_i = T_i^inter-node + T_i^intra-node. */
static const struct staircase_part {
    unsigned levels;
    enum group_by group_by;
    bool in_turn;
} staircase_parts[STAIRCASE_PARTS] = {
    [STAIRCASE_BETWEEN] = {LEVELS_BETWEEN, GROUP_BY_NODE, false},
    [STAIRCASE_WITHIN] = {LEVELS_WITHIN, GROUP_BY_SOCKET, false},
    [STAIRCASE_IN_TURN] = {LEVELS_WITHIN, GROUP_BY_SOCKET, true},
};

/* Is a share of a rank's volume: a rank with no more left at the end of a step finishes with it (share/doc/MODELS.md,
 * staircase, levels of a node mixed, rule 3). */
static const double FINISHED = 1e-12;

void bandwidth_steps_init(struct bandwidth_steps *steps, const struct traffic *traffic, size_t n_max)
{
    size_t size = traffic->n_classes * (n_max + 1) + 1;
    *steps = (struct bandwidth_steps){.n_max = n_max,
                                      .n_classes = traffic->n_classes,
                                      .bytes_per_s = xcalloc(size, sizeof *steps->bytes_per_s),
                                      .outside = xcalloc(size, sizeof *steps->outside),
                                      .used = xcalloc(size, sizeof *steps->used)};
    for (size_t c = 0; c < traffic->n_classes; c++)
        for (size_t n = 1; n <= n_max; n++)
            steps->bytes_per_s[c * (n_max + 1) + n] =
                machine_bandwidth_at(&traffic->classes[c].bandwidth, (double)n, &steps->outside[c * (n_max + 1) + n]);
}

size_t bandwidth_steps_extrapolated(const struct bandwidth_steps *steps)
{
    size_t n_extrapolated = 0;
    for (size_t i = 0; i < steps->n_classes * (steps->n_max + 1); i++)
        n_extrapolated += steps->outside[i] && steps->used[i];
    return n_extrapolated;
}

void bandwidth_steps_release(struct bandwidth_steps *steps)
{
    FREE_ALL(steps->bytes_per_s, steps->outside, steps->used);
    *steps = (struct bandwidth_steps){0};
}

/* Says what a rank's rate is made of: for the classes of its incoming bytes, the share of the class in its level, and
 * of the level in all (theta_i of T12, or 1 - theta_i). */
struct staircase_mix {
    size_t n_classes;
    struct {
        size_t class;
        double in_level;
        double level; /* share of the class's level */
        bool last_of_level;
    } parts[MAX_CLASSES];
};

/* Returns the mix of a rank with incoming bytes of those levels. */
static struct staircase_mix staircase_mix_of(const struct traffic *traffic, unsigned levels, size_t rank)
{
    struct staircase_mix mix = {0};
    double volume = traffic_bytes(traffic, rank, INCOMING, levels);
    for (size_t c = 0; c < traffic->n_classes; c++) {
        enum level level = traffic->classes[c].level;
        double bytes = traffic->bytes[INCOMING][rank * traffic->n_classes + c];
        if (!(bytes > 0) || !traffic_class_in(traffic, c, levels))
            continue;
        double of_level = traffic_bytes(traffic, rank, INCOMING, LEVEL_BIT(level));
        if (mix.n_classes > 0 && traffic->classes[mix.parts[mix.n_classes - 1].class].level == level)
            mix.parts[mix.n_classes - 1].last_of_level = false;
        mix.parts[mix.n_classes].class = c;
        mix.parts[mix.n_classes].in_level = bytes / of_level;
        mix.parts[mix.n_classes].level = of_level / volume;
        mix.parts[mix.n_classes++].last_of_level = true;
    }
    return mix;
}

/* Returns T12, in B/s: BW^mix(n, theta_i) = theta_i / n BW^on(n) + (1 - theta_i) / n BW^off(n); BW at a level is the
 * harmonic mean of the protocols' by bytes. */
static double staircase_mix_bandwidth(const struct staircase_mix *mix, struct bandwidth_steps *steps, size_t n)
{
    double sum = 0, inverse = 0;
    for (size_t i = 0; i < mix->n_classes; i++) {
        inverse += mix->parts[i].in_level / bandwidth_steps_at(steps, mix->parts[i].class, n);
        if (!mix->parts[i].last_of_level)
            continue;
        sum += mix->parts[i].level / inverse;
        inverse = 0;
    }
    return sum / (double)n;
}

/* Returns the class of all incoming bytes of the ranks at those levels, or NO_CLASS where there are several, or none.
 */
static size_t staircase_only_class(const struct traffic *traffic, unsigned levels, const uint32_t *ranks, size_t n)
{
    size_t only = NO_CLASS;
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < traffic->n_classes; c++) {
            bool carries = traffic->bytes[INCOMING][ranks[i] * traffic->n_classes + c] > 0;
            if (!carries || !traffic_class_in(traffic, c, levels) || c == only)
                continue;
            if (only != NO_CLASS)
                return NO_CLASS;
            only = c;
        }
    }
    return only;
}

static int compare_volume(const void *a, const void *b)
{
    const struct competitor *x = a, *y = b;
    if (x->volume < y->volume || x->volume > y->volume)
        return x->volume < y->volume ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void staircase_receive_even(size_t class, struct bandwidth_steps *steps, struct competitor *competitors, size_t n)
{
    qsort(competitors, n, sizeof *competitors, compare_volume);
    double elapsed_s = 0, before = 0; /* V_{i-1} */
    for (size_t i = 0; i < n; i++) {
        /* T7 (T5): t_i = t_{i-1} + (N - i) (V_i - V_{i-1}) / BW_MP(N - i); ties add 0. */
        double left = (double)(n - i);
        if (competitors[i].volume > before)
            elapsed_s += left * (competitors[i].volume - before) / bandwidth_steps_at(steps, class, n - i);
        before = competitors[i].volume;
        competitors[i].rest = 0;
        competitors[i].recv_s = elapsed_s;
    }
}

void staircase_receive_mixed(const struct traffic *traffic, unsigned levels, struct bandwidth_steps *steps,
                             struct competitor *competitors, size_t n)
{
    struct staircase_mix *mixes = xmalloc((n + 1) * sizeof *mixes);
    double *bytes_per_s = xmalloc((n + 1) * sizeof *bytes_per_s); /* rate of competitor i in this step */
    struct competitor *finished = xmalloc((n + 1) * sizeof *finished);
    size_t n_finished = 0, left = n;
    double elapsed_s = 0;
    for (size_t i = 0; i < n; i++)
        mixes[i] = staircase_mix_of(traffic, levels, competitors[i].rank);
    while (left > 0) {
        /* T13 chooses the unfinished rank q with the least rest over its bandwidth, n = N - k. */
        size_t q = 0;
        double step_s = 0;
        for (size_t i = 0; i < left; i++) {
            bytes_per_s[i] = staircase_mix_bandwidth(&mixes[i], steps, left);
            double needed_s = competitors[i].rest / bytes_per_s[i];
            if (i == 0 || needed_s < step_s) {
                q = i;
                step_s = needed_s;
            }
        }
        elapsed_s += step_s; /* T14 */
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) {
            /* T16 and T17 go together, on and off, as theta_i is fixed. */
            competitors[i].rest -= step_s * bytes_per_s[i];
            if (i == q || competitors[i].rest <= FINISHED * competitors[i].volume) {
                competitors[i].rest = 0;
                competitors[i].recv_s = elapsed_s;
                finished[n_finished++] = competitors[i];
            } else {
                if (kept != i) {
                    competitors[kept] = competitors[i];
                    mixes[kept] = mixes[i];
                }
                kept++;
            }
        }
        left = kept;
    }
    for (size_t i = 0; i < n; i++)
        competitors[i] = finished[i];
    FREE_ALL(mixes, bytes_per_s, finished);
}

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
 * messages do advance together; the order of posts is not used. Cost: O(M log M), 24 bytes for each block that its
 * sender waits for and a bit a message, 24 bytes for each message of the rank that receives most. */
/* Says of a block that its sender waits for when it is delivered if it is the first of its receiver's, and if half of
 * the others come before it. */
struct serial_block {
    double first_s, half_s;
    uint32_t message; /* that stands for it */
};

struct serial {
    const struct traffic *traffic;        /* borrowed, as the next */
    const struct size_order *by_receiver; /* of those levels */
    unsigned levels;
    size_t n_waited;
    struct serial_block *waited; /* [n_waited] receiver by receiver; by message from the delivery on */
    double *end_share;           /* [n_ranks] share of the orders in which a block is the first, or the last, of several
                                  * to a rank; 0 if there is one */
    struct radix_run blocks;     /* blocks of the current receiver; key: bytes, id: the message that stands for it */
    struct radix_run spare;      /* room to sort them, behind them */
    uint32_t *block_of;          /* [n_ranks] block of a sender among them, plus one; 0: none, and between receivers */
};

/* LOOK_AHEAD counts messages: the sender of a later one is fetched meanwhile. */
enum { POINTS = 16, LOOK_AHEAD = 12 };

/* Is the shortest span worth splitting, as a share of the span from L to E: a shorter one is as good as over when it
 * begins. */
static const double SHORTEST = 1e-12;

/* Holds what a rank waits for. */
struct latest {
    double begin_s, end_s; /* L, E */
    double share[POINTS];  /* the product of P_k at the points between */
};

/* Takes 24 bytes for each block that its sender waits for, and a bit a message. */
static void serial_init(struct serial *serial, const struct traffic *traffic, const struct size_order *by_receiver,
                        unsigned levels)
{
    *serial = (struct serial){.traffic = traffic, .by_receiver = by_receiver, .levels = levels};
    serial->end_share = xcalloc(traffic->n_ranks + 1, sizeof *serial->end_share);
    size_t largest = size_order_largest(by_receiver) + 1;
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
           pattern_bytes(serial->traffic->pattern, message) > 0 && !traffic_at_once(serial->traffic, message);
}

/* Finds the blocks that come to one rank, by bytes; returns how many. The largest message of a block stands for it: if
 * its sender waits for any of them, it waits for that one. */
static size_t find_blocks(struct serial *serial, uint32_t receiver)
{
    const struct size_order *order = serial->by_receiver;
    const struct pattern *pattern = serial->traffic->pattern;
    const uint32_t *src = pattern->src;
    struct radix_run blocks = serial->blocks;
    size_t j = order->first[receiver], end = order->first[receiver + 1], n = 0;
    while (j < end && pattern_bytes(pattern, order->message[j]) == 0) /* waits for nothing */
        j++;
    size_t n_messages = end - j;
    for (; j < end; j++) {
        uint32_t message = order->message[j], *of = &serial->block_of[src[message]];
        uint64_t bytes = pattern_bytes(pattern, message);
        if (j + LOOK_AHEAD < end)
            __builtin_prefetch(&src[order->message[j + LOOK_AHEAD]]);
        if (*of == 0) {
            blocks.key[n] = bytes;
            blocks.id[n] = message;
            *of = (uint32_t)++n;
            continue;
        }
        size_t block = *of - 1;
        if (__builtin_add_overflow(blocks.key[block], bytes, &blocks.key[block]))
            blocks.key[block] = UINT64_MAX;
        blocks.id[block] = message;
    }
    for (size_t i = 0; i < n; i++)
        serial->block_of[src[blocks.id[i]]] = 0;
    if (n < n_messages)
        radix_sort(blocks, n, serial->spare);
    return n;
}

/* Finds a_k and h_k of the blocks to one rank, and keeps those of which a sender waits for the end. */
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
        uint32_t message = serial->blocks.id[i];
        struct serial_block block = {walk_to(&first, bytes, receiver, &mix, steps, competitors, n),
                                     walk_to(&half, middle, receiver, &mix, steps, competitors, n), message};
        if (waits(serial, message))
            ARRAY_ADD(serial->waited, serial->n_waited, block);
    }
}

/* Takes one group, as staircase_receive_even or staircase_receive_mixed left its n competitors. */
static void serial_receive(struct serial *serial, struct bandwidth_steps *steps, const struct competitor *competitors,
                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        find_times(serial, steps, competitors, n, &competitors[i]);
}

/* Puts the blocks into the order of their messages, each where it belongs: that is how many messages before it stand
 * for one, which counts of bits tell. A block that is moved meets the one whose place that is. */
static void sort_waited(struct serial *serial)
{
    size_t n_words = serial->traffic->pattern->n_messages / 64 + 1;
    uint64_t *stands = xcalloc(n_words, sizeof *stands);
    uint32_t *before = xmalloc(n_words * sizeof *before), n = 0;
    for (size_t i = 0; i < serial->n_waited; i++)
        stands[serial->waited[i].message / 64] |= UINT64_C(1) << serial->waited[i].message % 64;
    for (size_t word = 0; word < n_words; word++) {
        before[word] = n;
        n += (uint32_t)__builtin_popcountll(stands[word]);
    }
    for (size_t i = 0; i < serial->n_waited; i++)
        for (;;) {
            struct serial_block block = serial->waited[i];
            size_t word = block.message / 64;
            uint64_t lower = stands[word] & ((UINT64_C(1) << block.message % 64) - 1);
            size_t place = before[word] + (size_t)__builtin_popcountll(lower);
            if (place == i)
                break;
            serial->waited[i] = serial->waited[place];
            serial->waited[place] = block;
        }
    FREE_ALL(stands, before);
}

/* Finds L and E, and what a rank waits for longest in half of the orders. */
static void find_ends(const struct serial *serial, const double *recv_s, struct latest *latest, struct critical *sends)
{
    const struct pattern *pattern = serial->traffic->pattern;
    for (size_t rank = 0; rank < serial->traffic->n_ranks; rank++) {
        latest[rank].begin_s = latest[rank].end_s = recv_s[rank];
        sends[rank] = (struct critical){.at_s = recv_s[rank], .bytes = INFINITY};
    }
    for (size_t i = 0; i < serial->n_waited; i++) {
        const struct serial_block *block = &serial->waited[i];
        uint32_t k = block->message;
        double first_s = block->first_s, last_s = recv_s[pattern->dst[k]];
        struct latest *of = &latest[pattern->src[k]];
        of->begin_s = fmax(of->begin_s, first_s);
        of->end_s = fmax(of->end_s, last_s);
        critical_take(
            &sends[pattern->src[k]],
            &(struct critical){.at_s = block->half_s, .bytes = DBL_MAX, .message = k, .way = pattern->dst[k]});
    }
}

/* Forms the products of all P_k, at the points[POINTS] between L, 0, and E, 1. */
static void find_shares(const struct serial *serial, const double *recv_s, const double *points, struct latest *latest)
{
    const struct pattern *pattern = serial->traffic->pattern;
    for (size_t rank = 0; rank < serial->traffic->n_ranks; rank++)
        for (size_t p = 0; p < POINTS; p++)
            latest[rank].share[p] = 1;
    for (size_t i = 0; i < serial->n_waited; i++) {
        const struct serial_block *block = &serial->waited[i];
        uint32_t k = block->message;
        struct latest *of = &latest[pattern->src[k]];
        double last_s = recv_s[pattern->dst[k]];
        if (!(last_s > of->begin_s))
            continue;
        /* These are places on the scale from L, 0, to E, 1. */
        double between_s = of->end_s - of->begin_s, half = (block->half_s - of->begin_s) / between_s;
        double first = (block->first_s - of->begin_s) / between_s, last = (last_s - of->begin_s) / between_s;
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

/* Computes, once and when all groups have received, the mean over the orders of when each rank's receives and sends are
 * over: sends[n_ranks], from recv_s[n_ranks]. bytes is INFINITY where in half of the orders it waits for its receives
 * longest. */
static void serial_delivery(struct serial *serial, const double *recv_s, struct critical *sends)
{
    size_t n_ranks = serial->traffic->n_ranks;
    double points[POINTS], weights[POINTS];
    sort_waited(serial);
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

static void serial_release(struct serial *serial)
{
    FREE_ALL(serial->waited, serial->end_share, serial->blocks.key, serial->blocks.id, serial->block_of);
    *serial = (struct serial){0};
}

/* Computes t_i^recv of every rank: recv_s[n_ranks], 0 where V_i = 0. serial may be NULL. */
static void receive_groups(const struct traffic *traffic, unsigned levels, const struct grouping *grouping,
                           struct bandwidth_steps *steps, struct competitor *competitors, double *recv_s,
                           struct serial *serial)
{
    for (size_t g = 0; g < grouping->n_groups; g++) {
        size_t n = 0;
        for (size_t i = grouping->first[g]; i < grouping->first[g + 1]; i++) {
            uint32_t rank = grouping->member[i];
            double volume = traffic_bytes(traffic, rank, INCOMING, levels);
            recv_s[rank] = 0;
            if (volume > 0)
                competitors[n++] = (struct competitor){.rank = rank, .volume = volume, .rest = volume};
        }
        size_t class = staircase_only_class(traffic, levels, grouping->member + grouping->first[g],
                                            grouping->first[g + 1] - grouping->first[g]);
        if (class != NO_CLASS)
            staircase_receive_even(class, steps, competitors, n);
        else if (n > 0)
            staircase_receive_mixed(traffic, levels, steps, competitors, n);
        for (size_t i = 0; i < n; i++)
            recv_s[competitors[i].rank] = competitors[i].recv_s;
        if (serial != NULL)
            serial_receive(serial, steps, competitors, n);
    }
}

double staircase_latency_s(const struct traffic *traffic, size_t rank, unsigned levels, enum latency_side side)
{
    double in_s = traffic_latency_s(traffic, rank, INCOMING, levels);
    double out_s = traffic_latency_s(traffic, rank, OUTGOING, levels);
    if (side == LATENCY_IN)
        return in_s;
    return side == LATENCY_OUT || out_s > in_s ? out_s : in_s;
}

/* Returns what a rank's incoming bytes would take if it were alone: V_i / BW^mix(1, theta_i), T12. */
static double receive_alone_s(const struct traffic *traffic, size_t rank, unsigned levels, const double *single)
{
    double volume = traffic_bytes(traffic, rank, INCOMING, levels), bytes_per_s = 0;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        double of_level = traffic_bytes(traffic, rank, INCOMING, levels & LEVEL_BIT(level));
        if (of_level > 0)
            bytes_per_s += of_level / volume * of_level /
                           traffic_transfer_s(traffic, rank, INCOMING, levels & LEVEL_BIT(level), single);
    }
    return volume > 0 ? volume / bytes_per_s : 0;
}

/* Adds the transfer of every rank, T8's and T15's maximum, with its part alone apart: for a delivery the bytes of the
 * rank's own messages to that receiver, as far as they are through by then. alone_s[n_ranks] gives room. */
static void staircase_add_transfers(const struct traffic *traffic, unsigned levels, const double *recv_s,
                                    const struct critical *sends, double *alone_s, struct prediction *prediction)
{
    const struct pattern *pattern = traffic->pattern;
    double single[MAX_CLASSES];
    traffic_single_bandwidth(traffic, single);
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        alone_s[rank] = 0;
    for (size_t k = 0; k < pattern->n_messages; k++) {
        const struct critical *send = &sends[pattern->src[k]];
        uint8_t class = traffic->class_of[k];
        double bytes = (double)pattern_bytes(pattern, k);
        if (send->way == pattern->dst[k] && class != NO_CLASS && traffic_class_in(traffic, class, levels))
            alone_s[pattern->src[k]] += (bytes < send->bytes ? bytes : send->bytes) / single[class];
    }
    for (size_t rank = 0; rank < traffic->n_ranks; rank++) {
        struct critical last = {.at_s = recv_s[rank], .bytes = INFINITY};
        critical_take(&last, &sends[rank]);
        bool receives = !(last.bytes < INFINITY);
        prediction_add_transfer(prediction, rank,
                                receives ? receive_alone_s(traffic, rank, levels, single) : alone_s[rank], last.at_s);
    }
}

/* Tells the senders of one receiver's messages when each is delivered. */
static void deliver_to(const struct size_order *order, uint32_t receiver, const struct pattern *pattern, double recv_s,
                       struct critical *sends)
{
    size_t begin = order->first[receiver], end = order->first[receiver + 1];
    double volume = 0; /* V_i */
    for (size_t j = begin; j < end; j++)
        volume += (double)pattern_bytes(pattern, order->message[j]);
    if (!(volume > 0))
        return;
    double delivered_s = 0;
    uint64_t before = 0; /* s_{i,j-1} */
    for (size_t j = begin; j < end; j++) {
        /* T9: t_j = t_{j-1} + (M_i - j) (s_j - s_{j-1}) / V_i t_i^recv. */
        uint32_t message = order->message[j];
        uint64_t bytes = pattern_bytes(pattern, message);
        delivered_s += (double)(end - j) * (double)(bytes - before) / volume * recv_s;
        before = bytes;
        critical_take(
            &sends[pattern->src[message]],
            &(struct critical){.at_s = delivered_s, .bytes = (double)bytes, .message = message, .way = receiver});
    }
}

/* Computes the latest delivery (T9) of each rank's outgoing messages: sends[n_ranks], all 0 without any, from
 * recv_s[n_ranks]; the way is the receiver's rank. */
static void staircase_delivery(const struct size_order *by_receiver, const struct pattern *pattern,
                               const double *recv_s, struct critical *sends)
{
    for (size_t rank = 0; rank < by_receiver->n_groups; rank++)
        sends[rank] = (struct critical){0};
    for (size_t rank = 0; rank < by_receiver->n_groups; rank++)
        deliver_to(by_receiver, (uint32_t)rank, pattern, recv_s[rank], sends);
}

/* Adds T8 or T15 of every rank to latency_s, bandwidth_s and contention_s of the prediction. */
static void staircase_add(const struct model_input *input, const struct staircase_part *part,
                          const struct size_order *by_receiver, struct prediction *prediction)
{
    const struct traffic *traffic = input->traffic;
    unsigned levels = part->levels;
    struct grouping grouping;
    struct bandwidth_steps steps;
    struct serial in_turn = {0}, *serial = part->in_turn ? &in_turn : NULL;
    grouping_init(&grouping, input->placement, part->group_by);
    double *recv_s = xcalloc(2 * traffic->n_ranks + 1, sizeof *recv_s);
    struct critical *sends = xcalloc(traffic->n_ranks + 1, sizeof *sends);
    struct competitor *competitors = xmalloc((grouping.largest + 1) * sizeof *competitors);
    bandwidth_steps_init(&steps, traffic, grouping.largest);
    if (serial != NULL)
        serial_init(serial, traffic, by_receiver, levels);
    receive_groups(traffic, levels, &grouping, &steps, competitors, recv_s, serial);
    if (serial != NULL)
        serial_delivery(serial, recv_s, sends);
    else
        staircase_delivery(by_receiver, traffic->pattern, recv_s, sends);
    /* T8, T15: T_i = M_i tau + max(t_i^recv, t_i,0^send, ...). */
    for (size_t rank = 0; rank < traffic->n_ranks; rank++)
        prediction->part_s[PART_LATENCY][rank] += staircase_latency_s(traffic, rank, levels, input->options->latency);
    staircase_add_transfers(traffic, levels, recv_s, sends, recv_s + traffic->n_ranks, prediction);
    prediction->extrapolated += bandwidth_steps_extrapolated(&steps);
    serial_release(&in_turn);
    bandwidth_steps_release(&steps);
    FREE_ALL(competitors, sends, recv_s);
    grouping_release(&grouping);
}

/* What the parts of a round share: the messages by receiver, for each set of levels. */
enum { ORDER_BETWEEN, ORDER_WITHIN, ORDER_COUNT };

struct staircase_jobs {
    const struct model_input *input;
    struct prediction *staircases;
    size_t n_threads;
    size_t n, parts[STAIRCASE_PARTS];
    bool ordered[ORDER_COUNT];
    struct size_order by_receiver[ORDER_COUNT];
};

static size_t order_of(size_t part)
{
    return staircase_parts[part].levels == LEVELS_BETWEEN ? ORDER_BETWEEN : ORDER_WITHIN;
}

static int order_part(void *context, size_t order, struct error *error)
{
    (void)error;
    struct staircase_jobs *jobs = context;
    if (jobs->ordered[order])
        size_order_init(&jobs->by_receiver[order], jobs->input->traffic,
                        order == ORDER_BETWEEN ? LEVELS_BETWEEN : LEVELS_WITHIN, INCOMING, NULL,
                        jobs->input->traffic->n_ranks, jobs->n_threads);
    return 0;
}

static int predict_part(void *context, size_t job, struct error *error)
{
    (void)error;
    struct staircase_jobs *jobs = context;
    size_t part = jobs->parts[job];
    struct prediction *prediction = &jobs->staircases[part];
    prediction_init(prediction, jobs->input->traffic->n_ranks);
    staircase_add(jobs->input, &staircase_parts[part], &jobs->by_receiver[order_of(part)], prediction);
    prediction_sum(prediction, NULL); /* a time out of range is refused by whoever adds it */
    return 0;
}

void staircases_predict(const struct model_input *input, unsigned parts, size_t n_threads,
                        struct prediction *staircases)
{
    struct staircase_jobs jobs = {.input = input, .staircases = staircases, .n_threads = n_threads};
    for (size_t part = STAIRCASE_PARTS; part-- > 0;) /* the longest first */
        if ((parts & STAIRCASE_BIT(part)) != 0) {
            jobs.parts[jobs.n++] = part;
            jobs.ordered[order_of(part)] = true;
        }
    side_by_side(ORDER_COUNT, n_threads, order_part, &jobs, NULL);
    side_by_side(jobs.n, n_threads, predict_part, &jobs, NULL);
    for (size_t i = 0; i < ORDER_COUNT; i++)
        size_order_release(&jobs.by_receiver[i]);
}

static void staircase_predict(const struct model_input *input, struct prediction *prediction)
{
    prediction_add(prediction, &input->staircases[STAIRCASE_BETWEEN]);
    prediction_add(prediction, &input->staircases[STAIRCASE_WITHIN]);
}

const struct model staircase_model = {.name = "staircase",
                                      .summary = "ranks share a bandwidth and leave it one after the other",
                                      .latency_side = true,
                                      .staircases = STAIRCASE_BIT(STAIRCASE_BETWEEN) | STAIRCASE_BIT(STAIRCASE_WITHIN),
                                      .predict = staircase_predict};

static void serial_predict(const struct model_input *input, struct prediction *prediction)
{
    prediction_add(prediction, &input->staircases[STAIRCASE_BETWEEN]);
    prediction_add(prediction, &input->staircases[STAIRCASE_IN_TURN]);
}

const struct model serial_model = {.name = "serial",
                                   .summary = "staircase, within a node one message after another",
                                   .latency_side = true,
                                   .staircases = STAIRCASE_BIT(STAIRCASE_BETWEEN) | STAIRCASE_BIT(STAIRCASE_IN_TURN),
                                   .predict = serial_predict};

/* staircase-max is the staircase whose two parts overlap wholly: the larger of them counts.
 *
 * A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023 (T), equation 18 adds the part between nodes and
 * the part within them, as if one began when the other has ended. Here
 *
 *   T_i = max(T_i^inter-node, T_i^intra-node)        each T8 or T15, with its own latency
 *
 * which is what remains if nothing of one slows down the other: a lower bound of T18's sum, and at least half of it.
 * What is measured should lie between the two. Symbols and domain: as above. */
static void staircase_max_predict(const struct model_input *input, struct prediction *prediction)
{
    const struct prediction *between = &input->staircases[STAIRCASE_BETWEEN];
    const struct prediction *within = &input->staircases[STAIRCASE_WITHIN];
    prediction_add(prediction, between);
    for (size_t rank = 0; rank < prediction->n_ranks; rank++) {
        double between_s = between->time_s[rank];
        if (!isfinite(between_s) || within->time_s[rank] <= between_s)
            continue; /* what is out of range is kept, so that the caller refuses it */
        for (size_t part = 0; part < PART_COUNT; part++)
            prediction->part_s[part][rank] = within->part_s[part][rank];
    }
    prediction->extrapolated += within->extrapolated;
}

const struct model staircase_max_model = {.name = "staircase-max",
                                          .summary = "staircase, the larger of its parts between nodes and within one",
                                          .latency_side = true,
                                          .staircases =
                                              STAIRCASE_BIT(STAIRCASE_BETWEEN) | STAIRCASE_BIT(STAIRCASE_WITHIN),
                                          .predict = staircase_max_predict};
