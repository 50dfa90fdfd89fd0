/* staggered: the staircase, with messages that start when they were posted.
 *
 * Ours; an extension of the staircase (A. Thune, S.-A. Reinemo, T. Skeie and X. Cai, IEEE TPDS 34(5), 2023, equations
 * 5-9 and 12-18: T), which lets all ranks start together. In a real code they do not. What competes for the bandwidth
 * of a group at a time t are the ranks that a message moves to:
 *
 *   A_i(t)  messages to rank i with a_k <= t that are not through        receiver.open
 *   n(t)    ranks of the group with A_i(t) > 0                           group_run.n_active
 *   dw/dt   BW_i(n(t)) / (n(t) A_i(t)) for each of them                  struct clock, receiver.through
 *   d_k     when w_k(d_k) = b_k: message k is delivered                  moves.delivered_s
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
 * How: a rank's messages share its rate evenly, so that one number, bytes a message since the rank began, says how far
 * all are; and ranks with the same BW_i share a clock that counts bytes a rank. Keys on those do not change while
 * others come and go. Between nodes by node, within a node by socket, as T18; both on one clock.
 *
 * Domain: posts as recorded or given, M messages in a round. Limits: the posts are taken as they are, so what the
 * communication itself delayed (a send posted after another one's completion) is not predicted; a message within a node
 * moves without its receiver being inside MPI; the sender's side shares nothing, as in the staircase; theta_i is that
 * of the whole round. */
#include "staggered.h"

#include <math.h>
#include <stdlib.h>

#include "heap.h"
#include "models.h"
#include "staircase.h"

/* A rank that messages move to. */
struct receiver {
    uint32_t clock;
    double through;   /* bytes that each open message has got since the first of them began */
    double at;        /* of the clock, to which `through` holds */
    struct heap open; /* messages, by what `through` will be when they are through */
};

/* Of ranks with the same bandwidth. */
struct clock {
    double served; /* bytes that each of its ranks has got, at since_s */
    double since_s;
    double bytes_per_s; /* now */
    struct heap ranks;  /* by what `served` will be when their next message is through */
};

/* One group. Arrays for the largest group; receivers by their place in it. */
struct group_run {
    const struct traffic *traffic;
    struct bandwidth_steps *steps;
    unsigned levels;
    double *delivered_s;
    const uint32_t *place_of; /* [n_ranks] of a rank in its group */
    const uint32_t *ranks;    /* of the group */
    size_t n_receivers, n_clocks, n_active;
    size_t only_class; /* of all bytes, or NO_CLASS */
    struct receiver *receivers;
    struct clock *clocks;
    struct staircase_mix *mixes;          /* of the receivers, where they have clocks of their own */
    struct heap clock_times;              /* of the clocks with ranks, when the next message of theirs is through */
    struct heap_entry *open, *clock_open; /* room of the heaps */
    size_t *place;
};

static void keep_up(struct receiver *receiver, const struct clock *clock)
{
    if (receiver->open.n > 0)
        receiver->through += (clock->served - receiver->at) / (double)receiver->open.n;
    receiver->at = clock->served;
}

static double next_key(const struct receiver *receiver)
{
    return receiver->at + (receiver->open.entries[0].key - receiver->through) * (double)receiver->open.n;
}

static void advance(struct clock *clock, double now_s)
{
    if (clock->ranks.n > 0)
        clock->served += (now_s - clock->since_s) * clock->bytes_per_s;
    else
        clock->served = 0;
    clock->since_s = now_s;
}

/* When the next message of a clock is through. */
static double through_s(const struct clock *clock)
{
    return clock->since_s + fmax(clock->ranks.entries[0].key - clock->served, 0) / clock->bytes_per_s;
}

/* The clock that it goes by. */
static uint32_t open_message(struct group_run *run, uint32_t message, double now_s)
{
    uint32_t r = run->place_of[run->traffic->pattern->dst[message]];
    struct receiver *receiver = &run->receivers[r];
    struct clock *clock = &run->clocks[receiver->clock];
    bool begins = receiver->open.n == 0;
    advance(clock, now_s);
    keep_up(receiver, clock);
    if (begins)
        receiver->through = 0;
    heap_push(&receiver->open, receiver->through + (double)run->traffic->pattern->bytes[message], message);
    if (begins)
        heap_push(&clock->ranks, next_key(receiver), r);
    else
        heap_change(&clock->ranks, next_key(receiver), r);
    run->n_active += begins;
    return receiver->clock;
}

/* The clock has come to its first key. */
static void close_message(struct group_run *run, struct clock *clock, double now_s)
{
    uint32_t r = clock->ranks.entries[0].id;
    struct receiver *receiver = &run->receivers[r];
    clock->served = clock->ranks.entries[0].key;
    clock->since_s = now_s;
    struct heap_entry done = heap_pop(&receiver->open);
    run->delivered_s[done.id] = now_s;
    receiver->through = done.key;
    receiver->at = clock->served;
    if (receiver->open.n > 0) {
        heap_change(&clock->ranks, next_key(receiver), r);
        return;
    }
    heap_pop(&clock->ranks);
    run->n_active--;
}

/* Another number of ranks: all clocks go at other rates from now on. */
static void set_rates(struct group_run *run, double now_s)
{
    run->clock_times.n = 0;
    for (size_t c = 0; c < run->n_clocks; c++) {
        struct clock *clock = &run->clocks[c];
        if (clock->ranks.n == 0)
            continue;
        advance(clock, now_s);
        if (run->only_class != NO_CLASS)
            clock->bytes_per_s = bandwidth_steps_at(run->steps, run->only_class, run->n_active) / (double)run->n_active;
        else
            clock->bytes_per_s = staircase_mix_bandwidth(&run->mixes[c], run->steps, run->n_active);
        heap_push(&run->clock_times, through_s(clock), (uint32_t)c);
    }
}

static void run_events(struct group_run *run, const uint32_t *arrivals, size_t n)
{
    for (size_t next = 0; next < n || run->n_active > 0;) {
        size_t active = run->n_active;
        const struct heap_entry *first = run->clock_times.entries;
        double begin_s = next < n ? moves_begin_s(run->traffic, arrivals[next]) : INFINITY;
        if (next < n && (active == 0 || begin_s <= first->key)) {
            uint32_t clock = 0;
            size_t from = next;
            for (; next < n && moves_begin_s(run->traffic, arrivals[next]) <= begin_s; next++)
                clock = open_message(run, arrivals[next], begin_s);
            if (run->n_active != active || next > from + 1)
                set_rates(run, begin_s);
            else
                heap_change(&run->clock_times, through_s(&run->clocks[clock]), clock);
            continue;
        }
        struct clock *clock = &run->clocks[first->id];
        double now_s = first->key;
        close_message(run, clock, now_s);
        if (run->n_active != active)
            set_rates(run, now_s);
        else
            heap_change(&run->clock_times, through_s(clock), first->id);
    }
}

/* Which ranks share a clock; each one's room. */
static void prepare_group(struct group_run *run, const uint32_t *arrivals, size_t n)
{
    size_t used = 0;
    run->only_class = n > 0 ? run->traffic->class_of[arrivals[0]] : NO_CLASS;
    for (size_t r = 0; r < run->n_receivers; r++)
        run->receivers[r] = (struct receiver){.clock = 0};
    for (size_t i = 0; i < n; i++) {
        run->receivers[run->place_of[run->traffic->pattern->dst[arrivals[i]]]].open.n++;
        if (run->traffic->class_of[arrivals[i]] != run->only_class)
            run->only_class = NO_CLASS;
    }
    for (size_t r = 0; r < run->n_receivers; r++) {
        struct receiver *receiver = &run->receivers[r];
        receiver->open.entries = run->open + used;
        used += receiver->open.n;
        if (run->only_class == NO_CLASS) {
            receiver->clock = (uint32_t)r;
            run->mixes[r] = staircase_mix_of(run->traffic, run->levels, run->ranks[r]);
        }
        receiver->open.n = 0;
    }
    run->n_clocks = run->only_class == NO_CLASS ? run->n_receivers : 1;
    run->clock_times.n = 0;
    for (size_t c = 0; c < run->n_clocks; c++)
        run->clocks[c] = (struct clock){.ranks = {.entries = run->clock_open + c, .place = run->place}};
}

static void run_release(struct group_run *run)
{
    free(run->receivers);
    free(run->clocks);
    free(run->mixes);
    free(run->open);
    free(run->clock_open);
    free(run->place);
    free(run->clock_times.entries);
    free(run->clock_times.place);
}

static int run_init(struct group_run *run, const struct grouping *grouping, const struct arrivals *arrivals)
{
    size_t most = 0, n = grouping->largest + 1;
    for (size_t g = 0; g < grouping->n_groups; g++)
        if (arrivals->first[g + 1] - arrivals->first[g] > most)
            most = arrivals->first[g + 1] - arrivals->first[g];
    run->receivers = malloc(n * sizeof *run->receivers);
    run->clocks = malloc(n * sizeof *run->clocks);
    run->mixes = malloc(n * sizeof *run->mixes);
    run->open = malloc((most + 1) * sizeof *run->open);
    run->clock_open = malloc(n * sizeof *run->clock_open);
    run->place = malloc(n * sizeof *run->place);
    run->clock_times.entries = malloc(n * sizeof *run->clock_times.entries);
    run->clock_times.place = malloc(n * sizeof *run->clock_times.place);
    return run->receivers != NULL && run->clocks != NULL && run->mixes != NULL && run->open != NULL &&
                   run->clock_open != NULL && run->place != NULL && run->clock_times.entries != NULL &&
                   run->clock_times.place != NULL
               ? 0
               : -1;
}

int staggered_move(const struct traffic *traffic, const struct placement *placement, unsigned levels,
                   enum group_by group_by, struct moves *moves, size_t *extrapolated)
{
    struct grouping grouping = {0};
    struct arrivals arrivals = {0};
    struct bandwidth_steps steps = {0};
    uint32_t *place_of = malloc((traffic->n_ranks + 1) * sizeof *place_of);
    struct group_run run = {
        .traffic = traffic, .steps = &steps, .levels = levels, .delivered_s = moves->delivered_s, .place_of = place_of};
    int result = -1;
    if (place_of == NULL || grouping_init(&grouping, placement, group_by) != 0 ||
        arrivals_init(&arrivals, traffic, levels, &grouping, INCOMING) != 0 ||
        bandwidth_steps_init(&steps, traffic, grouping.largest) != 0 || run_init(&run, &grouping, &arrivals) != 0)
        goto out;
    for (size_t g = 0; g < grouping.n_groups; g++) {
        run.ranks = grouping.member + grouping.first[g];
        run.n_receivers = grouping.first[g + 1] - grouping.first[g];
        for (size_t r = 0; r < run.n_receivers; r++)
            place_of[run.ranks[r]] = (uint32_t)r;
        prepare_group(&run, arrivals.message + arrivals.first[g], arrivals.first[g + 1] - arrivals.first[g]);
        run_events(&run, arrivals.message + arrivals.first[g], arrivals.first[g + 1] - arrivals.first[g]);
    }
    *extrapolated += bandwidth_steps_extrapolated(&steps);
    result = 0;
out:
    run_release(&run);
    bandwidth_steps_release(&steps);
    arrivals_release(&arrivals);
    grouping_release(&grouping);
    free(place_of);
    return result;
}

static int staggered_predict(const struct pattern *pattern, const struct placement *placement,
                             const struct machine *machine, const struct model_options *options,
                             struct prediction *prediction, struct error *error)
{
    struct traffic traffic;
    struct moves moves = {0};
    if (traffic_init(&traffic, pattern, placement, machine, error) != 0)
        return -1;
    prediction_clear(prediction);
    int result = 0;
    if (moves_init(&moves, &traffic, false) != 0 ||
        staggered_move(&traffic, placement, LEVEL_BIT(LEVEL_INTER_NODE), GROUP_BY_NODE, &moves,
                       &prediction->extrapolated) != 0 ||
        staggered_move(&traffic, placement, LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET),
                       GROUP_BY_SOCKET, &moves, &prediction->extrapolated) != 0 ||
        moves_add(&moves, options->latency, prediction) != 0)
        result = error_set(error, "no memory for the events of %zu messages", pattern->n_messages);
    moves_release(&moves);
    traffic_release(&traffic);
    return result == 0 ? prediction_sum(prediction, error) : result;
}

const struct model staggered_model = {.name = "staggered",
                                      .source = "ours: T5-T8, T12-T18 with post times",
                                      .latency_side = true,
                                      .post_times = true,
                                      .predict = staggered_predict};
