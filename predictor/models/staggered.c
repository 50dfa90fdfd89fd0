/* staggered is the staircase with messages that start when they were posted.
 *
 * The model is ours, an extension of the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5),
 * 2023, equations 5-9 and 12-18: T), which lets all ranks start together. In a real code they do not. What competes for
 * the bandwidth of a group at a time t are the ranks that a message moves to:
 *
 *   A_i(t)  messages to rank i with a_k <= t that are not through        underway_n(receiver.open)
 *   n(t)    ranks of the group with A_i(t) > 0                           group_run.n_active
 *   dw/dt   BW_i(n(t)) / (n(t) A_i(t)) for each of them                  share_clock, receiver.through
 *   d_k     when w_k(d_k) = b_k: message k is delivered                  moves_delivered_s
 *
 *   a_k     when message k begins to move (moves.h)                      moves_begin_s          s
 *   b_k     its bytes                                                    pattern.bytes          B
 *   w_k     its bytes that are through                                   -                      B
 *   BW_i    bandwidth for the mix of rank i's bytes, theta_i (T12)       staircase_mix          B/s
 *
 * and from a_k and d_k each rank's time (moves.h). With equal starts the last d_k of a rank is its t_i^recv of T7 and
 * T14. T9 is not used: it spreads the rank's mean rate over the whole time, here a delivery is when the bytes are
 * through.
 *
 * This is computed as follows: a rank's messages share its rate evenly, so that one number, bytes a message since the
 * rank began, says how far all are; and ranks with the same BW_i share a clock that counts bytes a rank. Marks on those
 * do not change while others come and go. So the only events are messages that begin and ranks that are left without
 * any; the deliveries in between are worked out when one of these concerns their rank. Between nodes by node, within a
 * node by socket, as T18; both on one clock.
 *
 * Domain: posts as recorded or given, M messages in a round. Limits: the posts are taken as they are, so what the
 * communication itself delayed (a send posted after another one's completion) is not predicted; a message within a node
 * moves without its receiver being inside MPI; the sender's side shares nothing, as in the staircase; theta_i is that
 * of the whole round. */
#include "predictor/models/staggered.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/models/models.h"
#include "predictor/engine/share_clock.h"
#include "predictor/models/staircase.h"
#include "predictor/engine/underway.h"

/* Describes a rank that messages move to. */
struct receiver {
    uint32_t clock;
    uint32_t segment;     /* segment of the clock at `at` */
    double through;       /* bytes that each open message has got since the first of them began */
    double at;            /* reading of the clock at which `through` holds */
    double idle_at;       /* reading of the clock when all are through */
    struct underway open; /* marks: what `through` will be */
};

/* Counts the segments of a group's clocks together, for each rank. When a clock has no room for another one, its ranks
 * are brought up to now. */
enum { SEGMENTS_A_RANK = 4 };

enum { LOOK_AHEAD = 12 }; /* messages */

/* Describes one group. Arrays suit the largest group; receivers are known by their place in it. */
struct group_run {
    const struct traffic *traffic;
    struct bandwidth_steps *steps;
    unsigned levels;
    const struct moves *moves;
    struct arrivals arrivals; /* a queue is a receiver */
    const uint32_t *queue_of; /* [n_ranks] */
    size_t first_queue;       /* first queue of the group */
    const uint32_t *ranks;    /* ranks of the group */
    size_t n_receivers, n_clocks, n_active;
    size_t only_class; /* the class of all bytes, or NO_CLASS */
    struct receiver *receivers;
    struct share_clock *clocks;
    struct clock_segment *segments;
    struct staircase_mix *mixes; /* mixes of the receivers, where they have clocks of their own */
    struct heap clock_times;     /* the clocks with ranks, by when the next of them is idle */
    struct heap_entry *late;     /* room for the heaps */
    struct heap_entry *clock_ranks;
    size_t *place;
};

/* Delivers what is through when the clock is at `served`, except the last `keep` messages: that a rank is idle is an
 * event. */
static void catch_up(struct group_run *run, struct receiver *receiver, double served, size_t keep)
{
    const struct share_clock *clock = &run->clocks[receiver->clock];
    size_t n = underway_n(&receiver->open);
    for (; n > keep; n--) {
        double mark = underway_mark(&receiver->open, &run->arrivals);
        double at = receiver->at + (mark - receiver->through) * (double)n;
        if (at > served)
            break;
        size_t i = underway_take(&receiver->open, &run->arrivals), ahead = i + LOOK_AHEAD;
        if (ahead < receiver->open.end) /* it lies anywhere, and waiting for it would be most of the work */
            __builtin_prefetch(moves_delivered_s(run->moves, arrival_message(&run->arrivals, ahead)), 1);
        *moves_delivered_s(run->moves, arrival_message(&run->arrivals, i)) =
            share_clock_time_s(clock, &receiver->segment, at);
        receiver->through = mark;
        receiver->at = at;
    }
    if (n > 0) {
        receiver->through += (served - receiver->at) / (double)n;
        receiver->at = served;
    }
}

/* Begins the first messages of a receiver. */
static void begin_receiver(struct group_run *run, uint32_t r, size_t i, size_t end)
{
    struct receiver *receiver = &run->receivers[r];
    struct share_clock *clock = &run->clocks[receiver->clock];
    receiver->segment = clock->n_segments > 0 ? (uint32_t)clock->n_segments - 1 : 0;
    receiver->through = 0;
    receiver->at = receiver->idle_at = clock->served;
    receiver->open.next = i;
    receiver->open.end = end;
    for (; i < end; i++)
        receiver->idle_at += arrival_bytes(&run->arrivals, i);
    heap_push(&clock->ranks, receiver->idle_at, r);
    run->n_active++;
}

/* Adds more messages of a receiver. */
static void add_messages(struct group_run *run, uint32_t r, size_t i, size_t end)
{
    struct receiver *receiver = &run->receivers[r];
    struct share_clock *clock = &run->clocks[receiver->clock];
    catch_up(run, receiver, clock->served, 1);
    for (; i < end; i++) {
        double bytes = arrival_bytes(&run->arrivals, i);
        heap_push(&receiver->open.late, receiver->through + bytes, (uint32_t)i);
        receiver->idle_at += bytes;
    }
    heap_change(&clock->ranks, receiver->idle_at, r);
    heap_change(&run->clock_times, share_clock_idle_s(clock), receiver->clock);
}

/* Opens the messages that begin with the arrival i at its receiver; returns their end. */
static size_t open_messages(struct group_run *run, size_t i, double now_s)
{
    const struct arrivals *arrivals = &run->arrivals;
    uint32_t queue = run->queue_of[run->traffic->pattern->dst[arrival_message(arrivals, i)]];
    uint32_t r = (uint32_t)(queue - run->first_queue);
    size_t end = arrivals_alike(arrivals, i, arrivals->order.first[queue + 1]);
    while (i < end && !(arrival_bytes(arrivals, i) > 0))
        i++;
    if (i == end)
        return end;
    share_clock_advance(&run->clocks[run->receivers[r].clock], now_s);
    if (underway_n(&run->receivers[r].open) == 0)
        begin_receiver(run, r, i, end);
    else
        add_messages(run, r, i, end);
    return end;
}

/* Takes out the first rank, which is idle as the clock has come there. */
static void idle_receiver(struct group_run *run, struct share_clock *clock, double now_s)
{
    struct heap_entry first = heap_pop(&clock->ranks);
    catch_up(run, &run->receivers[first.id], INFINITY, 0);
    clock->served = first.key;
    clock->since_s = now_s;
    run->n_active--;
}

static void set_rate(struct group_run *run, struct share_clock *clock, double bytes_per_s)
{
    if (clock->n_segments == clock->max_segments) {
        for (size_t i = 0; i < clock->ranks.n; i++) {
            struct receiver *receiver = &run->receivers[clock->ranks.entries[i].id];
            catch_up(run, receiver, clock->served, 1);
            receiver->segment = 0;
        }
        clock->n_segments = 0;
    }
    share_clock_set_rate(clock, bytes_per_s);
}

/* Makes all clocks go at other rates from now on, as the number of ranks has changed. */
static void set_rates(struct group_run *run, double now_s)
{
    run->clock_times.n = 0;
    for (size_t c = 0; c < run->n_clocks; c++) {
        struct share_clock *clock = &run->clocks[c];
        if (clock->ranks.n == 0)
            continue;
        share_clock_advance(clock, now_s);
        if (run->only_class != NO_CLASS)
            set_rate(run, clock,
                     bandwidth_steps_at(run->steps, run->only_class, run->n_active) / (double)run->n_active);
        else
            set_rate(run, clock, staircase_mix_bandwidth(&run->mixes[c], run->steps, run->n_active));
        heap_push(&run->clock_times, share_clock_idle_s(clock), (uint32_t)c);
    }
}

static void run_events(struct group_run *run)
{
    const struct arrivals *arrivals = &run->arrivals;
    for (size_t next = 0; next < arrivals->n || run->n_active > 0;) {
        size_t active = run->n_active;
        const struct heap_entry *first = run->clock_times.entries;
        double now_s = next < arrivals->n ? arrival_begin_s(arrivals, next) : INFINITY;
        if (next < arrivals->n && (active == 0 || now_s <= first->key)) {
            while (next < arrivals->n && arrival_begin_s(arrivals, next) <= now_s)
                next = open_messages(run, next, now_s);
        } else {
            now_s = first->key;
            idle_receiver(run, &run->clocks[first->id], now_s);
        }
        if (run->n_active != active)
            set_rates(run, now_s);
    }
}

/* Decides which ranks share a clock, and gives each its room. */
static void prepare_group(struct group_run *run)
{
    run->only_class = staircase_only_class(run->traffic, run->levels, run->ranks, run->n_receivers);
    run->n_clocks = run->only_class == NO_CLASS ? run->n_receivers : 1;
    for (size_t r = 0; r < run->n_receivers; r++) {
        struct receiver *receiver = &run->receivers[r];
        *receiver = (struct receiver){.clock = run->n_clocks > 1 ? (uint32_t)r : 0};
        if (run->late != NULL)
            receiver->open.late.entries =
                run->late + (run->arrivals.order.first[run->first_queue + r] - run->arrivals.from);
        if (run->only_class == NO_CLASS)
            run->mixes[r] = staircase_mix_of(run->traffic, run->levels, run->ranks[r]);
    }
    run->clock_times.n = 0;
    for (size_t c = 0; c < run->n_clocks; c++)
        run->clocks[c] = (struct share_clock){.ranks = {.entries = run->clock_ranks + c, .place = run->place},
                                              .segments = run->segments + SEGMENTS_A_RANK * c,
                                              .max_segments = SEGMENTS_A_RANK * run->n_receivers / run->n_clocks};
}

static void run_release(struct group_run *run)
{
    arrivals_release(&run->arrivals);
    free(run->receivers);
    free(run->clocks);
    free(run->segments);
    free(run->mixes);
    free(run->late);
    free(run->clock_ranks);
    free(run->place);
    free(run->clock_times.entries);
    free(run->clock_times.place);
}

/* Makes room for all groups; queue_of[rank]. */
static int run_init(struct group_run *run, const struct grouping *grouping, const uint32_t *queue_of)
{
    size_t most = 0, n = grouping->largest + 1;
    if (arrivals_init(&run->arrivals, run->traffic, run->levels, INCOMING, queue_of, run->traffic->n_ranks) != 0)
        return -1;
    const size_t *first = run->arrivals.order.first;
    for (size_t g = 0; g < grouping->n_groups; g++)
        if (first[grouping->first[g + 1]] - first[grouping->first[g]] > most)
            most = first[grouping->first[g + 1]] - first[grouping->first[g]];
    run->receivers = malloc(n * sizeof *run->receivers);
    run->clocks = malloc(n * sizeof *run->clocks);
    run->segments = malloc(SEGMENTS_A_RANK * n * sizeof *run->segments);
    run->mixes = malloc(n * sizeof *run->mixes);
    if (run->arrivals.timed)
        run->late = malloc((most + 1) * sizeof *run->late);
    run->clock_ranks = malloc(n * sizeof *run->clock_ranks);
    run->place = malloc(n * sizeof *run->place);
    run->clock_times.entries = malloc(n * sizeof *run->clock_times.entries);
    run->clock_times.place = malloc(n * sizeof *run->clock_times.place);
    return run->receivers != NULL && run->clocks != NULL && run->segments != NULL && run->mixes != NULL &&
                   (run->late != NULL || !run->arrivals.timed) && run->clock_ranks != NULL && run->place != NULL &&
                   run->clock_times.entries != NULL && run->clock_times.place != NULL
               ? 0
               : -1;
}

int staggered_move(const struct traffic *traffic, const struct placement *placement, unsigned levels,
                   enum group_by group_by, struct moves *moves, size_t *extrapolated)
{
    struct grouping grouping = {0};
    struct bandwidth_steps steps = {0};
    uint32_t *queue_of = malloc((traffic->n_ranks + 1) * sizeof *queue_of);
    struct group_run run = {
        .traffic = traffic, .steps = &steps, .levels = levels, .moves = moves, .queue_of = queue_of};
    int result = -1;
    if (queue_of == NULL || grouping_init(&grouping, placement, group_by) != 0)
        goto out;
    for (size_t i = 0; i < traffic->n_ranks; i++)
        queue_of[grouping.member[i]] = (uint32_t)i;
    if (bandwidth_steps_init(&steps, traffic, grouping.largest) != 0 || run_init(&run, &grouping, queue_of) != 0)
        goto out;
    for (size_t g = 0; g < grouping.n_groups; g++) {
        run.first_queue = grouping.first[g];
        run.ranks = grouping.member + grouping.first[g];
        run.n_receivers = grouping.first[g + 1] - grouping.first[g];
        if (arrivals_select(&run.arrivals, grouping.first[g], grouping.first[g + 1]) != 0)
            goto out;
        prepare_group(&run);
        run_events(&run);
    }
    *extrapolated += bandwidth_steps_extrapolated(&steps);
    result = 0;
out:
    run_release(&run);
    bandwidth_steps_release(&steps);
    grouping_release(&grouping);
    free(queue_of);
    return result;
}

static int staggered_predict(const struct model_input *input, struct prediction *prediction, struct error *error)
{
    struct moves moves = {0};
    const struct traffic *traffic = input->traffic;
    int result = 0;
    if (moves_init(&moves, traffic, false) != 0 ||
        staggered_move(traffic, input->placement, LEVEL_BIT(LEVEL_INTER_NODE), GROUP_BY_NODE, &moves,
                       &prediction->extrapolated) != 0 ||
        staggered_move(traffic, input->placement, LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
                       GROUP_BY_SOCKET, &moves, &prediction->extrapolated) != 0 ||
        moves_add(&moves, input->options->latency, prediction) != 0)
        result = error_set(error, "no memory for the events of %zu messages", traffic->pattern->n_messages);
    moves_release(&moves);
    return result;
}

const struct model staggered_model = {.name = "staggered",
                                      .summary = "staircase, messages start when they were posted",
                                      .latency_side = true,
                                      .post_times = true,
                                      .predict = staggered_predict};
