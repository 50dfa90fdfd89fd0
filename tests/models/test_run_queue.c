/* Tests what the search of a rank's queues costs in the replay of a run (share/doc/MODELS.md, Whole run, Terms): by
 * hand, against a search that really walks, which must notice a planted fault, and at a size at which only near-
 * linear time ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

/* Begins a run by the law postal in which passing a posted receive takes step_s, an unexpected message twice as long.
 * The machine is that of run_eager_machine. */
static void start(struct run_case *run, size_t n_ranks, double step_s)
{
    *run = (struct run_case){.options = {.law = LAW_POSTAL, .terms = RUN_TERM_QUEUE}};
    run_eager_machine(run);
    case_value(&run->c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step", 64, step_s, "s");
    case_value(&run->c, LEVEL_COUNT, PROTOCOL_ANY, "queue_step_unexpected", 64, 2 * step_s, "s");
    run_ranks(run, n_ranks, NULL);
}

static void assert_searches(const struct run_case *run, uint32_t rank, enum machine_queue queue, uint64_t passed,
                            uint64_t longest)
{
    assert_int_equal(run->result.searches[rank].passed[queue], passed);
    assert_int_equal(run->result.searches[rank].longest[queue], longest);
}

/* Both arrive after 0.1 ms. The first passes two receives, until 2.1; then the second is searched for, until 3.1. Alone
 * they would be there after 1.1. */
static void arrivals_by_hand(void **state)
{
    (void)state;
    struct run_case run;
    start(&run, 3, 1e-3);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 2, 1, MB, 0);
    run_rank(&run, "S0");
    run_rank(&run, "r1 r0 w:r1:r0");
    run_rank(&run, "S1");
    run_replay(&run);
    assert_end(&run, 1, 1.1 + 3);
    assert_part(&run, 1, RUN_QUEUE, 3);
    assert_part(&run, 1, RUN_LATENCY, 0.1);
    assert_part(&run, 1, RUN_BANDWIDTH, 1);
    assert_end(&run, 0, 0);
    assert_searches(&run, 1, MACHINE_QUEUE_POSTED, 3, 2);
    assert_searches(&run, 1, MACHINE_QUEUE_UNEXPECTED, 0, 0);
    run_release(&run);
}

/* The receiver finds the second of two after it has passed both, then the first; its calls take as long. */
static void posts_by_hand(void **state)
{
    (void)state;
    struct run_case run;
    start(&run, 2, 1e-3);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, 0, 0);
    run_rank(&run, "s0 s1 w:s0:s1");
    run_rank(&run, "c5 R1 c1 R0");
    run_replay(&run);
    assert_end(&run, 1, 5 + 4 + 1 + 2);
    assert_part(&run, 1, RUN_QUEUE, 6);
    assert_part(&run, 1, RUN_COMPUTATION, 6);
    assert_searches(&run, 1, MACHINE_QUEUE_UNEXPECTED, 3, 2);
    assert_searches(&run, 1, MACHINE_QUEUE_POSTED, 0, 0);
    run_release(&run);
}

/* A rendezvous of 2 ms is announced at 0.1, while another receive is posted before its own: 2 ms later. Where its
 * receive comes after that, nothing is late; where it comes while the announcement is searched for, it has to wait for
 * the rest of that, and so do the data. The receive finds the announcement, which takes 2 ms of its rank. */
static void rendezvous_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        double end_ms, queue_ms;
    } cases[] = {{"r1 r0 w:r0", 0.1 + 2 + 2, 2},
                 {"r1 c4 r0 w:r0", 4 + 0.1 + 2, 2}, /* the queue of announcements is searched while it moves */
                 {"r1 c1 r0 w:r0", 1 + 0.1 + 2 + 0.1, 2 + 0.1 + 0.1}};
    for (size_t i = 0; i < 3; i++) {
        struct run_case run;
        start(&run, 3, 1e-3);
        run_message(&run, 0, 1, 2 * MB, 0);
        run_message(&run, 2, 1, 0, 0);
        run_rank(&run, "S0");
        run_rank(&run, cases[i].words);
        run_rank(&run, "c90 S1");
        run_replay(&run);
        assert_end(&run, 1, cases[i].end_ms);
        assert_part(&run, 1, RUN_QUEUE, cases[i].queue_ms);
        run_release(&run);
    }
}

/* A handshake by steps: the announcement arrives after a third of 0.3 ms, and passes one receive. A message of a rank
 * to itself, and a one-sided transfer, pass nothing. */
static void steps_by_hand(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    struct run_case run = {.options = {.law = LAW_FLOW, .terms = RUN_TERM_QUEUE}};
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        case_value(&run.c, level, PROTOCOL_ANY, "tau", 0, 3e-4, "s");
        case_value(&run.c, level, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    }
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_ANY, "backlog", 0, 1e5, "B");
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_ANY, "progress", 0, 3, "1");
    case_value(&run.c, LEVEL_COUNT, PROTOCOL_ANY, "gamma", 0, 5e-4, "s");
    run_ranks(&run, 2, node);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 1, 1, MB, 0);
    run_message(&run, 0, 1, MB, MESSAGE_ONE_SIDED);
    run_rank(&run, "S0 c100 S2");
    run_rank(&run, "s1 r1 R0");
    run_replay(&run);
    assert_end(&run, 1, 0.3 + 1 + 1);
    assert_part(&run, 1, RUN_QUEUE, 1);
    assert_searches(&run, 1, MACHINE_QUEUE_POSTED, 1, 1);
    run_release(&run);
}

/* Without a row that says what a search costs there is no such term. */
static void no_row(void **state)
{
    (void)state;
    struct run_case run = {.options = {.terms = RUN_TERM_QUEUE}};
    struct error error;
    run_ranks(&run, 1, NULL);
    run_rank(&run, "");
    assert_int_equal(simulate(&run.program, &run.c.machine, &run.c.placement, &run.options, &run.result, &error), -1);
    assert_non_null(strstr(error.text, "queue_step"));
    run_release(&run);
}

/* Holds a post that a rank makes at a time, if nothing holds it up. */
struct plan {
    double at_s;
    uint32_t rank, message;
    bool sends;
};

static int compare_plans(const void *a, const void *b)
{
    const struct plan *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->at_s < y->at_s || x->at_s > y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->sends != y->sends)
        return x->sends - y->sends;
    return (x->message > y->message) - (x->message < y->message);
}

/* Adds the programs of all ranks: computation and posts, then the waits for all of them. */
static void add_programs(struct run_case *run, struct plan *plans, size_t n)
{
    struct run_program *program = &run->program;
    qsort(plans, n, sizeof *plans, compare_plans);
    for (uint32_t rank = 0, i = 0; rank < program->n_ranks; rank++) {
        double now_s = 0;
        uint32_t first_wait = (uint32_t)program->n_waits;
        const uint8_t whole = STEP_ENTERS | STEP_LEAVES;
        run_program_strand(program, rank, 0);
        for (; i < n && plans[i].rank == rank; i++) {
            enum run_operation_kind side = plans[i].sends ? OPERATION_SEND : OPERATION_RECEIVE;
            const struct run_step post = {.compute_s = plans[i].at_s - now_s,
                                          .object = plans[i].message,
                                          .place = rank,
                                          .kind = plans[i].sends ? STEP_SEND : STEP_RECEIVE,
                                          .flags = whole};
            assert_int_equal(run_program_step(program, &post), 0);
            run_program_wait(program, run_operation(plans[i].message, side));
            now_s = plans[i].at_s;
        }
        const struct run_step wait = {.object = first_wait,
                                      .count = (uint32_t)program->n_waits - first_wait,
                                      .place = rank,
                                      .kind = STEP_WAIT,
                                      .flags = whole};
        assert_int_equal(run_program_step(program, &wait), 0);
        program->strands[rank].tail_place = rank;
    }
}

/* Draws n messages between a few ranks, some of a rank to itself, some empty, of all protocols; all posts lie within
 * some ms, or receives at the common start. Posts plans[2 n]. */
static void draw(struct run_case *run, struct chance *chance, uint32_t n, bool start_together, struct plan *plans)
{
    uint32_t n_ranks = (uint32_t)run->program.n_ranks;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t src = (uint32_t)chance_below(chance, n_ranks), dst = (uint32_t)chance_below(chance, n_ranks);
        uint64_t bytes = chance_below(chance, 8) == 0 ? 0 : chance_below(chance, 3 * MB);
        double times_s[2];
        run_message(run, src, dst, bytes, 0);
        for (int end = 0; end < 2; end++)
            times_s[end] = (double)chance_below(chance, 1000000) * 1e-8;
        if (start_together)
            times_s[1] = 0;
        plans[2 * k] = (struct plan){times_s[0], src, k, true};
        plans[2 * k + 1] = (struct plan){times_s[1], dst, k, false};
    }
}

/* Walks the queues as an MPI does, on clocks of its own. */
struct walk {
    const struct run_case *run;
    const struct plan *plans;
    size_t n_plans;
    size_t next[8];                /* plan of a rank */
    double now_s[8], planned_s[8]; /* where it is: with its searches, as planned */
    double free_s[8];              /* when its last search is over */
    double post_s[200][2], arrival_s[200], found_s[200];
    bool arrived[200];
    double pair_s[8][8];       /* last arrival */
    uint32_t lists[8][2][200]; /* posted, unexpected */
    size_t n[8][2];
    int searches_to_fault; /* a search counts one entry more when this has come down to 0 */
};

/* Walks through a list up to the message, which it takes out, or to the end. Returns what that takes. */
static double walk_list(struct walk *walk, uint32_t rank, int queue, uint32_t message)
{
    uint32_t *list = walk->lists[rank][queue];
    size_t n = walk->n[rank][queue], at = 0;
    while (at < n && list[at] != message)
        at++;
    size_t passed = at < n ? at + 1 : n;
    if (at < n)
        memmove(&list[at], &list[at + 1], (--walk->n[rank][queue] - at) * sizeof *list);
    if (walk->searches_to_fault-- == 0)
        passed++;
    return (double)passed * (queue == 0 ? 1e-4 : 2e-4);
}

static void walk_post(struct walk *walk, const struct plan *plan)
{
    const struct run_message *message = &walk->run->program.messages[plan->message];
    double *now_s = &walk->now_s[plan->rank];
    double tau_s = 1e-4;
    walk->post_s[plan->message][plan->sends ? 0 : 1] = *now_s;
    if (message->src == message->dst)
        return;
    if (plan->sends) {
        double arrival_s = fmax(*now_s + tau_s, walk->pair_s[message->src][message->dst]);
        walk->arrival_s[plan->message] = walk->pair_s[message->src][message->dst] = arrival_s;
        return;
    }
    double seconds = walk_list(walk, plan->rank, 1, plan->message);
    if (!walk->arrived[plan->message])
        walk->lists[plan->rank][0][walk->n[plan->rank][0]++] = plan->message;
    if (seconds > 0)
        *now_s = walk->free_s[plan->rank] = fmax(*now_s, walk->free_s[plan->rank]) + seconds;
}

static void walk_arrival(struct walk *walk, uint32_t message)
{
    uint32_t rank = walk->run->program.messages[message].dst;
    bool is_posted = !isnan(walk->post_s[message][1]);
    double seconds = walk_list(walk, rank, 0, message);
    if (!is_posted)
        walk->lists[rank][1][walk->n[rank][1]++] = message;
    walk->arrived[message] = true;
    walk->found_s[message] = walk->free_s[rank] = fmax(walk->arrival_s[message], walk->free_s[rank]) + seconds;
}

/* Takes the next post or arrival of all ranks. Returns false at the end. */
static bool walk_on(struct walk *walk)
{
    double first_s = INFINITY;
    uint32_t rank = UINT32_MAX, message = UINT32_MAX;
    for (uint32_t r = 0; r < walk->run->program.n_ranks; r++) {
        if (walk->next[r] == walk->n_plans || walk->plans[walk->next[r]].rank != r)
            continue;
        double at_s = walk->now_s[r] + (walk->plans[walk->next[r]].at_s - walk->planned_s[r]);
        if (at_s < first_s) {
            first_s = at_s;
            rank = r;
        }
    }
    for (uint32_t k = 0; k < walk->run->program.n_messages; k++)
        if (!walk->arrived[k] && walk->arrival_s[k] < first_s) {
            first_s = walk->arrival_s[k];
            message = k;
        }
    if (message != UINT32_MAX) {
        walk_arrival(walk, message);
    } else if (rank != UINT32_MAX) {
        const struct plan *plan = &walk->plans[walk->next[rank]++];
        walk->now_s[rank] = first_s;
        walk->planned_s[rank] = plan->at_s;
        walk_post(walk, plan);
    }
    return message != UINT32_MAX || rank != UINT32_MAX;
}

/* Finds when every rank is done: end_s[n_ranks]. */
static void walk_all(const struct run_case *run, const struct plan *plans, size_t n_plans, int searches_to_fault,
                     double *end_s)
{
    struct walk *walk = calloc(1, sizeof *walk);
    assert_non_null(walk);
    *walk = (struct walk){.run = run, .plans = plans, .n_plans = n_plans, .searches_to_fault = searches_to_fault};
    for (uint32_t k = 0; k < run->program.n_messages; k++) {
        walk->post_s[k][0] = walk->post_s[k][1] = NAN;
        walk->arrival_s[k] = INFINITY;
    }
    for (uint32_t rank = 0, i = 0; rank < run->program.n_ranks; rank++) {
        walk->next[rank] = i;
        while (i < n_plans && plans[i].rank == rank)
            i++;
    }
    while (walk_on(walk))
        ;
    memcpy(end_s, walk->now_s, run->program.n_ranks * sizeof *end_s);
    for (uint32_t k = 0; k < run->program.n_messages; k++) {
        const struct run_message *message = &run->program.messages[k];
        const double *post_s = walk->post_s[k];
        double both_s = fmax(post_s[0], post_s[1]), bytes_s = (double)message->bytes * 1e-9, sent_s, delivered_s;
        if (message->src == message->dst) {
            sent_s = delivered_s = both_s;
        } else if (message->bytes < 2 * MB) {
            sent_s = post_s[0];
            delivered_s = post_s[0] + bytes_s + 1e-4 + walk->found_s[k] - walk->arrival_s[k];
        } else {
            sent_s = both_s + 1e-4 + bytes_s;
            delivered_s = sent_s + fmax(walk->found_s[k] - fmax(walk->arrival_s[k], post_s[1]), 0);
        }
        end_s[message->src] = fmax(end_s[message->src], sent_s);
        end_s[message->dst] = fmax(end_s[message->dst], delivered_s);
    }
    free(walk);
}

/* Random programs end when those walked through do. A fault in one search is seen where it delays somebody. */
static void against_a_walk(void **state)
{
    (void)state;
    enum { CASES = 400 };
    struct chance chance = {.state = 2};
    struct plan plans[400];
    int n_seen = 0;
    for (int i = 0; i < CASES; i++) {
        struct run_case run;
        double end_s[8], faulty_s[8];
        bool seen = false;
        start(&run, 2 + (size_t)i % 5, 1e-4);
        uint32_t n = (uint32_t)chance_below(&chance, 100) + 1;
        draw(&run, &chance, n, i % 2 == 0, plans);
        add_programs(&run, plans, 2 * (size_t)n);
        run_replay(&run);
        walk_all(&run, plans, 2 * (size_t)n, -1, end_s);
        walk_all(&run, plans, 2 * (size_t)n, (int)chance_below(&chance, n), faulty_s);
        for (uint32_t rank = 0; rank < run.program.n_ranks; rank++) {
            assert_end(&run, rank, end_s[rank] * 1e3);
            seen = seen || fabs(run.result.rank_end_s[rank] - faulty_s[rank]) > 1e-6;
        }
        n_seen += seen;
        run_release(&run);
    }
    assert_in_range(n_seen, CASES / 3, CASES);
}

/* 200,000 receives, met in the reversed order of their posts: 2 10^10 entries. */
static void deep_queue(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct run_case run;
    struct plan *plans = calloc(2 * N, sizeof *plans);
    assert_non_null(plans);
    start(&run, 2, 1e-15);
    for (uint32_t k = 0; k < N; k++) {
        run_message(&run, 0, 1, 8, 0);
        plans[2 * k] = (struct plan){1 + 1e-6 * (N - k), 0, k, true};
        plans[2 * k + 1] = (struct plan){0, 1, k, false};
    }
    add_programs(&run, plans, 2 * N);
    run_replay(&run);
    assert_searches(&run, 1, MACHINE_QUEUE_POSTED, (uint64_t)N * (N + 1) / 2, N);
    run_release(&run);
    free(plans);
}

/* Messages of modelled collectives are in the queues, too: a barrier of eight ranks has three rounds, each with a
 * message that passes its receive. */
static void collectives(void **state)
{
    (void)state;
    struct run_case run;
    start(&run, 8, 1e-3);
    for (uint32_t rank = 0; rank < 8; rank++)
        run.c.placement.node[rank] = rank;
    run_modelled(&run, COLLECTIVE_BARRIER, 0, 0);
    for (uint32_t rank = 0; rank < 8; rank++)
        run_rank(&run, "B0");
    run_replay(&run);
    for (uint32_t rank = 0; rank < 8; rank++) {
        assert_end(&run, rank, 3 * (0.1 + 1)); /* three rounds */
        assert_searches(&run, rank, MACHINE_QUEUE_POSTED, 3, 1);
    }
    run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrivals_by_hand), cmocka_unit_test(posts_by_hand), cmocka_unit_test(rendezvous_by_hand),
        cmocka_unit_test(steps_by_hand),    cmocka_unit_test(no_row),        cmocka_unit_test(against_a_walk),
        cmocka_unit_test(deep_queue),       cmocka_unit_test(collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
