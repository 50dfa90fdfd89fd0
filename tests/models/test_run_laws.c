/* Holds the clocks and bundles of every law (predictor/run/laws/run_share.h) against rates that are computed anew for
 * each message at each event, from the definitions of share/doc/MODELS.md (Whole run, Sharing): messages come, stop,
 * go on and end, many at the same moment, in an order drawn by lot. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/models/flow.h"
#include "predictor/pattern/traffic.h"
#include "predictor/run/laws/run_share.h"
#include "tests/models/cases.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { CASES = 60, MAX_MESSAGES = 80, MAX_EVENTS = 5 * MAX_MESSAGES, MOMENTS = 25 };

/* Times of what comes from outside are multiples of this, so that much happens at one moment. */
static const double MOMENT_S = 1e-4;

struct message {
    struct run_mover mover;
    double rest, room, rate;
    size_t among; /* N when it began */
    bool begun, moves, joins;
};

struct event {
    uint32_t moment, message;
    bool goes_on; /* or begins; else it stops */
};

struct world {
    struct model_case c;
    struct run_rates rates;
    struct run_share share;
    enum run_law law;
    bool one_class;
    struct message messages[MAX_MESSAGES];
    size_t n;
    struct event events[MAX_EVENTS];
    size_t n_events;
    double now_s;
};

/* Says how far the rates of all cases of a law went. */
struct seen {
    double of_single, of_group; /* largest rate over BW(1); sum at one receiving or sending end over BW(n) */
    size_t n_ends;
};

static double chance_real(struct chance *chance, double low, double high)
{
    return low + (high - low) * (double)chance_below(chance, 1U << 20) / (1U << 20);
}

static const struct run_class *class_of(const struct world *world, const struct message *message)
{
    return &world->rates.classes[message->mover.class];
}

static bool is_between(const struct world *world, const struct message *message)
{
    return class_of(world, message)->level == LEVEL_INTER_NODE;
}

/* Says whether two ranks are of one group, for messages between nodes or within them. */
static bool is_one_group(const struct world *world, uint32_t a, uint32_t b, bool between)
{
    const struct placement *placement = &world->c.placement;
    return placement->node[a] == placement->node[b] && (between || placement->socket[a] == placement->socket[b]);
}

enum end { SENDER, RECEIVER };
static uint32_t rank_at(const struct message *message, enum end end)
{
    return end == SENDER ? message->mover.src : message->mover.dst;
}

/* Says which of the messages that move count beside one. */
enum beside { SAME_KIND, SAME_LEVEL };
static bool counts(const struct world *world, const struct message *one, const struct message *other, enum end end,
                   enum beside beside)
{
    bool between = is_between(world, one);
    return other->moves && is_between(world, other) == between &&
           (beside == SAME_KIND || class_of(world, one)->level == class_of(world, other)->level) &&
           is_one_group(world, rank_at(one, end), rank_at(other, end), between);
}

/* Counts the ranks at that end of the group that have a message. */
static size_t count_ranks(const struct world *world, const struct message *one, enum end end, enum beside beside)
{
    bool has[64] = {false};
    size_t n = 0;
    for (size_t k = 0; k < world->n; k++) {
        const struct message *other = &world->messages[k];
        if (!counts(world, one, other, end, beside) || has[rank_at(other, end)])
            continue;
        has[rank_at(other, end)] = true;
        n++;
    }
    return n;
}

/* Counts the messages of the same rank at that end. */
static size_t count_own(const struct world *world, const struct message *one, enum end end, enum beside beside)
{
    size_t n = 0;
    for (size_t k = 0; k < world->n; k++)
        n += counts(world, one, &world->messages[k], end, beside) &&
             rank_at(&world->messages[k], end) == rank_at(one, end);
    return n;
}

static bool is_first(const struct world *world, const struct message *one, enum end end)
{
    for (size_t k = 0; k < world->n; k++) {
        const struct message *other = &world->messages[k];
        if (counts(world, one, other, end, SAME_KIND) && rank_at(other, end) == rank_at(one, end) &&
            (other->mover.begun_s < one->mover.begun_s ||
             (!(one->mover.begun_s < other->mover.begun_s) && other->mover.order < one->mover.order)))
            return false;
    }
    return true;
}

static double staircase(const struct world *world, const struct message *one)
{
    size_t n = count_ranks(world, one, RECEIVER, SAME_KIND);
    double all = (double)count_own(world, one, RECEIVER, SAME_KIND), bandwidth = 0;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        double messages = 0, inverse = 0;
        for (size_t k = 0; k < world->n; k++) {
            const struct message *other = &world->messages[k];
            if (!counts(world, one, other, RECEIVER, SAME_KIND) || other->mover.dst != one->mover.dst ||
                class_of(world, other)->level != level)
                continue;
            messages++;
            inverse += 1 / class_of(world, other)->bytes_per_s[n];
        }
        if (messages > 0)
            bandwidth += messages / all * (messages / inverse);
    }
    return bandwidth / (double)n / all;
}

static double packet(const struct world *world, const struct message *message)
{
    return world->law == LAW_FLOW_WINDOW ? flow_limited(&flow_window_packet, message->mover.carried) : 1;
}

static double at_nic(const struct world *world, const struct message *one, enum end end)
{
    size_t n = count_ranks(world, one, end, SAME_KIND), all = 0;
    double inverse = 0;
    for (size_t k = 0; k < world->n; k++)
        if (counts(world, one, &world->messages[k], end, SAME_KIND)) {
            all++;
            inverse += packet(world, &world->messages[k]) / class_of(world, &world->messages[k])->bytes_per_s[n];
        }
    if (world->law == LAW_FAIR)
        return fmin(class_of(world, one)->bytes_per_s[1], class_of(world, one)->most_bytes_per_s / (double)all);
    return packet(world, one) / inverse;
}

/* Returns the rate of a message that moves, by the definition of the law. */
static double rate_of(const struct world *world, const struct message *one)
{
    const struct run_class *class = class_of(world, one);
    bool between = is_between(world, one);
    size_t n = count_ranks(world, one, RECEIVER, SAME_KIND);
    switch (world->law) {
    case LAW_POSTAL:
        return class->bytes_per_s[1];
    case LAW_MAX_RATE:
        return class->bytes_per_s[one->among] / (double)one->among /
               (double)count_own(world, one, RECEIVER, SAME_LEVEL);
    case LAW_NODE_AWARE:
        if (!between)
            return is_first(world, one, SENDER) ? class->bytes_per_s[1] : 0;
        return fmin(class->bytes_per_s[1], class->injection_bytes_per_s / (double)one->among) /
               (double)count_own(world, one, SENDER, SAME_KIND);
    case LAW_SERIAL:
    case LAW_FLOW_WINDOW:
        if (!between)
            return is_first(world, one, RECEIVER) ? class->bytes_per_s[n] / (double)n : 0;
        break;
    case LAW_STAIRCASE:
    case LAW_FLOW:
    case LAW_FAIR:
    case LAW_COUNT:
        break;
    }
    if (world->law == LAW_FAIR && !between)
        return at_nic(world, one, RECEIVER);
    if (!between || world->law == LAW_STAIRCASE || world->law == LAW_SERIAL)
        return staircase(world, one);
    return fmin(at_nic(world, one, SENDER), at_nic(world, one, RECEIVER));
}

/* Sets all rates, as nothing more happens at this moment. */
static void set_rates(struct world *world, struct seen *seen)
{
    bool by_senders = world->law == LAW_NODE_AWARE;
    for (size_t k = 0; k < world->n; k++) {
        struct message *one = &world->messages[k];
        if (one->moves && one->joins)
            one->among = count_ranks(world, one, by_senders ? SENDER : RECEIVER, by_senders ? SAME_KIND : SAME_LEVEL);
        one->joins = false;
    }
    for (size_t k = 0; k < world->n; k++)
        world->messages[k].rate = world->messages[k].moves ? rate_of(world, &world->messages[k]) : 0;
    for (size_t k = 0; world->one_class && k < world->n; k++) {
        const struct message *one = &world->messages[k];
        if (!one->moves)
            continue;
        const struct run_class *class = class_of(world, one);
        seen->of_single = fmax(seen->of_single, one->rate / class->bytes_per_s[1]);
        for (enum end end = is_between(world, one) ? SENDER : RECEIVER; end <= RECEIVER; end++) {
            double sum = 0;
            if (end == SENDER && (world->law == LAW_STAIRCASE || world->law == LAW_SERIAL))
                continue;
            for (size_t m = 0; m < world->n; m++)
                sum += counts(world, one, &world->messages[m], end, SAME_KIND) ? world->messages[m].rate : 0;
            double most = world->law == LAW_FAIR ? class->most_bytes_per_s
                                                 : class->bytes_per_s[count_ranks(world, one, end, SAME_KIND)];
            seen->of_group = fmax(seen->of_group, sum / most);
        }
    }
}

/* Moves all messages as the rates say, and compares what is left of each. */
static void move_on(struct world *world, double until_s)
{
    for (size_t k = 0; k < world->n; k++) {
        struct message *one = &world->messages[k];
        if (!one->moves)
            continue;
        one->rest -= one->rate * (until_s - world->now_s);
        double rest = run_share_rest(&world->share, until_s, &one->mover);
        if (!(fabs(rest - one->rest) <= 1e-9 * one->mover.bytes))
            fail_msg("%s: message %zu at %.9g s: rest %.12g, expected %.12g", run_law_table[world->law].name, k,
                     until_s, rest, one->rest);
    }
    world->now_s = until_s;
}

static void add(struct world *world, struct message *one)
{
    if (!one->begun) {
        one->mover.begun_s = world->now_s;
        one->mover.carried = run_share_carried(&world->share, one->mover.src, one->mover.dst);
        double carried = 0;
        for (size_t k = 0; k < world->n; k++) {
            const struct message *other = &world->messages[k];
            if (other->mover.src == one->mover.src && other->mover.dst == one->mover.dst && other->rest < 0)
                carried += other->mover.bytes;
        }
        if (world->law == LAW_FLOW_WINDOW && is_between(world, one))
            assert_close(one->mover.carried, carried, 1e-12);
    }
    one->begun = one->moves = one->joins = true;
    run_share_add(&world->share, world->now_s, &one->mover, one->rest, one->room);
}

static void happen(struct world *world, const struct event *event)
{
    struct message *one = &world->messages[event->message];
    bool is_through = one->begun && one->rest < 0;
    if (event->goes_on && !one->moves && !is_through) {
        add(world, one);
    } else if (!event->goes_on && one->moves) {
        run_share_remove(&world->share, world->now_s, &one->mover);
        one->moves = false;
    }
}

/* Takes a mark, at which what is left must be what it stands for. */
static void take(struct world *world, struct seen *seen)
{
    uint32_t mark = run_share_take(&world->share, world->now_s);
    assert_int_not_equal(mark, RUN_NO_MARK);
    struct message *one = &world->messages[run_mark_number(mark)];
    double left = run_mark_is_end(mark) ? 0 : one->room;
    assert_true(one->moves);
    if (!(fabs(one->rest - left) <= 1e-9 * one->mover.bytes))
        fail_msg("%s: mark of message %u: rest %.12g, expected %.12g", run_law_table[world->law].name,
                 run_mark_number(mark), one->rest, left);
    if (!run_mark_is_end(mark)) {
        one->room = INFINITY; /* it comes up once */
        return;
    }
    run_share_remove(&world->share, world->now_s, &one->mover);
    one->moves = false;
    one->rest = -1;
    seen->n_ends++;
}

static int compare(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return (x->moment > y->moment) - (x->moment < y->moment);
}

static void draw_machine(struct world *world, struct chance *chance)
{
    world->c.machine = (struct machine){.name = "chance", .source = "chance"};
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++)
        for (int p = 0; p < (world->one_class ? 1 : 2); p++) {
            enum machine_protocol protocol = world->one_class ? PROTOCOL_ANY
                                             : p == 0         ? PROTOCOL_EAGER
                                                              : PROTOCOL_RENDEZVOUS;
            double together = chance_real(chance, 1e9, 4e9);
            case_value(&world->c, level, protocol, "tau", 0, 0, "s");
            for (uint64_t n = 1; n <= 8; n *= 2, together *= chance_real(chance, 1, 1.9))
                case_value(&world->c, level, protocol, "bw", n, together, "B/s");
            if (p == 1)
                case_value(&world->c, level, protocol, "threshold", 0, 300000, "B");
            if (chance_below(chance, 2) == 0)
                case_value(&world->c, level, protocol, "injection", 0, chance_real(chance, 2e9, 9e9), "B/s");
        }
}

static void draw(struct world *world, struct chance *chance)
{
    static const enum level levels[] = {LEVEL_INTRA_SOCKET, LEVEL_INTER_NODE};
    uint32_t n_ranks = 4 + (uint32_t)chance_below(chance, 12), node[64], socket[64];
    enum level only = levels[chance_below(chance, 2)];
    struct error error;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        node[rank] = world->one_class && only == LEVEL_INTRA_SOCKET ? 0 : (uint32_t)chance_below(chance, 3);
        socket[rank] = world->one_class ? 0 : (uint32_t)chance_below(chance, 2);
    }
    case_place(&world->c, n_ranks, node, socket);
    draw_machine(world, chance);
    unsigned all = LEVEL_BIT(LEVEL_INTRA_SOCKET) | LEVEL_BIT(LEVEL_INTER_SOCKET) | LEVEL_BIT(LEVEL_INTER_NODE);
    assert_int_equal(
        run_rates_init(&world->rates, &world->c.machine, all, n_ranks, (struct run_ideal){false, false}, &error), 0);
    run_share_init(&world->share, world->law, &world->rates, &world->c.placement);
    bool alike = chance_below(chance, 3) == 0;
    while (world->n < MAX_MESSAGES) {
        uint32_t src = (uint32_t)chance_below(chance, n_ranks), dst = (uint32_t)chance_below(chance, n_ranks);
        uint64_t bytes = alike ? 250000 : 1 + chance_below(chance, 600000);
        enum level level = src == dst ? LEVEL_SELF : placement_level(&world->c.placement, src, dst);
        if (level == LEVEL_SELF || (world->one_class && level != only && chance_below(chance, 1000) > 0))
            continue;
        if (world->one_class && level != only)
            break;
        uint32_t class = (uint32_t)run_rates_class(&world->rates, level, bytes, false), number = (uint32_t)world->n++;
        world->messages[number] = (struct message){
            .rest = (double)bytes,
            .room = chance_real(chance, 0, 500000),
            .mover = {
                .src = src, .dst = dst, .class = class, .number = number, .order = number, .bytes = (double)bytes}};
        uint32_t moment = (uint32_t)chance_below(chance, MOMENTS);
        for (uint32_t k = 0, n = 1 + 2 * (uint32_t)chance_below(chance, 3); k < n;
             k++) { /* begins, stops, goes on ... */
            world->events[world->n_events++] = (struct event){moment, number, k % 2 == 0};
            moment += 1 + (uint32_t)chance_below(chance, 4);
        }
    }
    for (size_t i = world->n_events; i-- > 1;) { /* the order at a moment is by lot */
        size_t other = chance_below(chance, i + 1);
        struct event event = world->events[i];
        world->events[i] = world->events[other];
        world->events[other] = event;
    }
    for (size_t i = 1; i < world->n_events; i++) /* stable */
        for (size_t k = i; k > 0 && compare(&world->events[k - 1], &world->events[k]) > 0; k--) {
            struct event event = world->events[k];
            world->events[k] = world->events[k - 1];
            world->events[k - 1] = event;
        }
}

static void go_through(struct world *world, struct seen *seen)
{
    size_t next = 0;
    for (;;) {
        double event_s = next < world->n_events ? world->events[next].moment * MOMENT_S : (double)INFINITY;
        double share_s = run_share_next_s(&world->share);
        double next_s = fmin(share_s, event_s);
        if (next_s > world->now_s && run_share_settle(&world->share))
            continue;
        if (isinf(next_s))
            break;
        assert_true(next_s >= world->now_s * (1 - 1e-12));
        set_rates(world, seen);
        move_on(world, fmax(next_s, world->now_s));
        if (share_s <= event_s)
            take(world, seen);
        else
            for (; next < world->n_events && world->events[next].moment * MOMENT_S <= world->now_s; next++)
                happen(world, &world->events[next]);
    }
    for (size_t k = 0; k < world->n; k++)
        assert_true(world->messages[k].rest < 0); /* all ended */
}

static void rates_are_those_defined(void **state)
{
    (void)state;
    for (enum run_law law = 0; law < LAW_COUNT; law++) {
        struct seen seen = {0};
        for (uint64_t i = 0; i < CASES; i++) {
            struct chance chance = {.state = i};
            struct world *world = calloc(1, sizeof *world);
            assert_non_null(world);
            world->law = law;
            world->one_class = i % 2 == 0;
            draw(world, &chance);
            go_through(world, &seen);
            run_share_release(&world->share);
            run_rates_release(&world->rates);
            case_release(&world->c);
            free(world);
        }
        assert_true(seen.n_ends > CASES * MAX_MESSAGES / 4);
        print_message("%s: %zu messages; of one class, rates up to %.3f BW(1), together up to %.3f BW(n)\n",
                      run_law_table[law].name, seen.n_ends, seen.of_single, seen.of_group);
        /* What a NIC serves goes by the windows of its messages, as in the model. */
        if (law != LAW_FLOW_WINDOW)
            assert_true(seen.of_single <= 1 + 1e-9);
        /* The others give what was there when a message began, or do not know all who share. */
        if (law >= LAW_STAIRCASE)
            assert_true(seen.of_group <= 1 + 1e-9);
    }
}

/* Times that differ by rounding are one moment: a message that ends right behind the begin of another one was not under
 * way then. Without the first message, which ends there, two receivers share what begins at 1 s; it has 1e9 / 2 B/s. */
static void rounding_makes_no_moments(void **state)
{
    (void)state;
    static const uint32_t nowhere[6];
    struct world world = {.c.machine = {.name = "chance", .source = "chance"}, .law = LAW_MAX_RATE};
    struct error error;
    case_place(&world.c, 6, nowhere, nowhere);
    case_value(&world.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&world.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    assert_int_equal(run_rates_init(&world.rates, &world.c.machine, LEVEL_BIT(LEVEL_INTRA_SOCKET), 6,
                                    (struct run_ideal){false, false}, &error),
                     0);
    run_share_init(&world.share, world.law, &world.rates, &world.c.placement);
    struct run_mover movers[3];
    for (uint32_t k = 0; k < 3; k++) {
        movers[k] = (struct run_mover){.src = k + 3, .dst = k, .number = k, .order = k, .bytes = 8e9};
        run_share_add(&world.share, k == 2 ? 1 : 0, &movers[k], 8e9, INFINITY);
        if (k > 0)
            assert_true(run_share_settle(&world.share));
    }
    run_share_remove(&world.share, 1 + 2e-16, &movers[0]);
    assert_true(run_share_settle(&world.share));
    assert_close(run_share_rest(&world.share, 2, &movers[2]), 8e9 - 0.5e9, 1e-12);
    run_share_release(&world.share);
    run_rates_release(&world.rates);
    case_release(&world.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rates_are_those_defined),
                                       cmocka_unit_test(rounding_makes_no_moments)};
    return cmocka_run_group_tests_name("run_laws", tests, NULL, NULL);
}
