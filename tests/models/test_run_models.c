/* Holds the laws of the whole run against the models of the same names: from a common start, where every rank has one
 * message of one class, both give the same times wherever the model's equation has no approximation. Elsewhere a law
 * shares by what moves at each moment, and how far the two are apart is printed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { CASES = 300, MAX_RANKS = 24 };

/* Says what ranks wait for: what the model's equation counts. */
enum counts { SENDS = 1, RECEIVES = 2, BOTH = 3 };

/* Says between which ranks messages go. */
enum shape { ANY_PLACES, TO_ONE_NODE, FROM_ONE_NODE };

static const struct equation {
    enum run_law law;
    enum counts counts;
    bool has_limit; /* a table in the form of B: BW(1) and R_N */
    bool equal;     /* messages of one size */
    bool has_tau;   /* the latency of a rank is that of its message */
    bool one_nic;   /* one NIC is the limit of each message */
} equations[] = {
    {LAW_POSTAL, BOTH, false, false, true, false},     {LAW_MAX_RATE, RECEIVES, true, true, true, false},
    {LAW_NODE_AWARE, SENDS, true, false, true, false}, {LAW_STAIRCASE, BOTH, false, false, false, false},
    {LAW_FLOW, BOTH, false, false, false, true},
};
enum { N_EQUATIONS = sizeof equations / sizeof equations[0] };

static double chance_real(struct chance *chance, double low, double high)
{
    return low + (high - low) * (double)chance_below(chance, 1U << 20) / (1U << 20);
}

/* Adds the rows of a level; BW(n) / n falls with n. */
static void add_level(struct run_case *run, struct chance *chance, enum level level, enum machine_protocol protocol,
                      const struct equation *equation)
{
    double single = chance_real(chance, 1e9, 4e9), together = single;
    case_value(&run->c, level, protocol, "tau", 0, equation->has_tau ? chance_real(chance, 0, 1e-4) : 0, "s");
    if (equation->has_limit) {
        case_value(&run->c, level, protocol, "bw", 1, single, "B/s");
        case_value(&run->c, level, protocol, "injection", 0, single * chance_real(chance, 1, 6), "B/s");
        return;
    }
    for (uint64_t n = 1; n <= 16; n *= 2, together *= chance_real(chance, 1, 1.9))
        case_value(&run->c, level, protocol, "bw", n, together, "B/s");
}

/* Places ranks so that all messages are of one level, or anywhere. */
static void place(struct run_case *run, struct chance *chance, size_t n, enum level level, enum shape shape)
{
    uint32_t node[MAX_RANKS], socket[MAX_RANKS];
    for (uint32_t rank = 0; rank < n; rank++) {
        bool at_one = shape == TO_ONE_NODE ? rank % 2 == 1 : rank % 2 == 0; /* even ranks send to odd ones */
        node[rank] = shape != ANY_PLACES         ? (at_one ? 0 : 1 + rank)
                     : level == LEVEL_INTER_NODE ? 2 * (uint32_t)chance_below(chance, 3) + rank % 2
                     : level == LEVEL_COUNT      ? (uint32_t)chance_below(chance, 3)
                                                 : 0;
        socket[rank] = level == LEVEL_INTER_SOCKET   ? rank % 2
                       : level == LEVEL_INTRA_SOCKET ? 0
                                                     : (uint32_t)chance_below(chance, 2);
    }
    placement_release(&run->c.placement);
    case_place(&run->c, n, node, socket);
}

/* Lets every rank post all that it has at 0, then wait for what counts. */
static void add_programs(struct run_case *run, enum counts counts)
{
    for (uint32_t rank = 0; rank < run->program.n_ranks; rank++) {
        char posts[2048] = "", wait[2048] = "";
        for (uint32_t m = 0; m < run->program.n_messages; m++)
            for (int side = 0; side < 2; side++) {
                const struct run_message *message = &run->program.messages[m];
                if ((side == 0 ? message->src : message->dst) != rank)
                    continue;
                sprintf(posts + strlen(posts), "%c%u ", side == 0 ? 's' : 'r', m);
                if (((side == 0 ? SENDS : RECEIVES) & counts) != 0)
                    sprintf(wait + strlen(wait), ":%c%u", side == 0 ? 's' : 'r', m);
            }
        if (wait[0] != '\0')
            sprintf(posts + strlen(posts), "w%s", wait);
        run_rank(run, posts);
    }
}

/* Returns the largest difference of a rank between law and model, as a part of the longest time. Ranks that have
 * nothing that counts are left out. */
static double difference(struct run_case *run, const struct equation *equation)
{
    struct prediction prediction = case_predict(&run->c, run_law_table[equation->law].name, LATENCY_IN);
    bool counts[MAX_RANKS] = {false};
    double most = 0, longest = 0;
    for (size_t m = 0; m < run->program.n_messages; m++) {
        counts[run->program.messages[m].src] |= (equation->counts & SENDS) != 0;
        counts[run->program.messages[m].dst] |= (equation->counts & RECEIVES) != 0;
    }
    for (size_t rank = 0; rank < run->program.n_ranks; rank++) {
        if (!counts[rank])
            continue;
        longest = fmax(longest, prediction.time_s[rank]);
        most = fmax(most, fabs(run->result.rank_end_s[rank] - prediction.time_s[rank]));
    }
    prediction_release(&prediction);
    return most / longest;
}

static void begin(struct run_case *run, struct chance *chance, const struct equation *equation, size_t n,
                  bool protocols)
{
    *run = (struct run_case){.options.law = equation->law, .c.machine = {.name = "chance", .source = "chance"}};
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        add_level(run, chance, level, protocols ? PROTOCOL_EAGER : PROTOCOL_ANY, equation);
        if (!protocols)
            continue;
        add_level(run, chance, level, PROTOCOL_RENDEZVOUS, equation);
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "threshold", 0, 300000, "B");
    }
    run_ranks(run, n, NULL);
}

static void add(struct run_case *run, uint32_t src, uint32_t dst, uint64_t bytes)
{
    run_message(run, src, dst, bytes, 0);
    case_add(&run->c, src, dst, bytes);
}

/* Even ranks send to odd ones, each at most one message: of random sizes, at one level. */
static void one_message_a_rank(void **state)
{
    (void)state;
    for (size_t e = 0; e < N_EQUATIONS; e++) {
        const struct equation *equation = &equations[e];
        struct chance chance = {.state = e};
        for (int i = 0; i < CASES; i++) {
            struct run_case run;
            size_t n = 2 * (1 + chance_below(&chance, MAX_RANKS / 2));
            enum shape shape = equation->one_nic ? (enum shape)(1 + i % 2) : ANY_PLACES;
            enum level level = shape != ANY_PLACES ? LEVEL_INTER_NODE : (enum level)(LEVEL_INTRA_SOCKET + i % 3);
            uint64_t same = 1 + chance_below(&chance, 1000000);
            begin(&run, &chance, equation, n, false);
            place(&run, &chance, n, level, shape);
            for (uint32_t k = 0, shift = (uint32_t)chance_below(&chance, n / 2); k < n / 2; k++)
                if (k == 0 || chance_below(&chance, 4) > 0)
                    add(&run, 2 * k, 2 * ((k + shift) % ((uint32_t)n / 2)) + 1,
                        equation->equal ? same : 1 + chance_below(&chance, 1000000));
            add_programs(&run, equation->counts);
            run_replay(&run);
            double apart = difference(&run, equation);
            if (!(apart <= 1e-9))
                fail_msg("%s, case %d: %g", run_law_table[equation->law].name, i, apart);
            run_release(&run);
        }
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Prints how far law and model are apart where ranks have several messages, of all levels and two protocols. */
static void several_messages_a_rank(void **state)
{
    (void)state;
    for (size_t e = 0; e < N_EQUATIONS; e++) {
        const struct equation *equation = &equations[e];
        struct chance chance = {.state = 100 + e};
        double apart[CASES];
        for (int i = 0; i < CASES; i++) {
            struct run_case run;
            size_t n = 4 + chance_below(&chance, MAX_RANKS - 3);
            begin(&run, &chance, equation, n, true);
            place(&run, &chance, n, LEVEL_COUNT, ANY_PLACES);
            for (size_t k = 0; k < 3 * n; k++) {
                uint32_t src = (uint32_t)chance_below(&chance, n);
                add(&run, src, (src + 1 + (uint32_t)chance_below(&chance, n - 1)) % (uint32_t)n,
                    1 + chance_below(&chance, 1000000));
            }
            add_programs(&run, equation->counts);
            run_replay(&run);
            apart[i] = difference(&run, equation);
            assert_true(isfinite(apart[i]));
            run_release(&run);
        }
        qsort(apart, CASES, sizeof *apart, compare);
        print_message("%s, several messages a rank: law and model are apart by %.1f %% (median), %.1f %% (most)\n",
                      run_law_table[equation->law].name, 100 * apart[CASES / 2], 100 * apart[CASES - 1]);
    }
}

enum { STEPS = 8 };

/* Draws a program in which every rank computes, sends to another, computes and waits, step by step, with its ranks
 * called by other names. No rank posts at the moment at which another one leaves MPI: whether that comes before or
 * after it is not a law's. */
static void draw_program(struct run_case *run, enum run_law law, uint64_t seed, const uint32_t *name, size_t n)
{
    static const struct equation any = {.has_tau = true};
    struct chance chance = {.state = seed};
    uint32_t node[MAX_RANKS], socket[MAX_RANKS];
    static char words[MAX_RANKS][4096];
    begin(run, &chance, &any, n, true);
    run->options.law = law;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++)
        case_value(&run->c, level, PROTOCOL_ANY, "progress", 0, (double)chance_below(&chance, 4), "1");
    if (chance_below(&chance, 2) == 0)
        case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 1e5, "B");
    for (uint32_t rank = 0; rank < n; rank++) {
        node[name[rank]] = (uint32_t)chance_below(&chance, 3);
        socket[name[rank]] = (uint32_t)chance_below(&chance, 2);
        words[rank][0] = '\0';
    }
    placement_release(&run->c.placement);
    case_place(&run->c, n, node, socket);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t distance = 1 + (uint32_t)chance_below(&chance, n - 1), first = step * (uint32_t)n;
        for (uint32_t rank = 0; rank < n; rank++) {
            uint32_t from = first + (rank + (uint32_t)n - distance) % (uint32_t)n, own = first + rank;
            char *at = words[name[rank]] + strlen(words[name[rank]]);
            run_message(run, name[rank], name[(rank + distance) % n], 1 + chance_below(&chance, 1000000), 0);
            sprintf(at, "c0.%06u r%u s%u c0.%u w:r%u%s%u ", (unsigned)chance_below(&chance, 1000000), from, own,
                    (unsigned)chance_below(&chance, 1000), from, step % 2 == 0 ? ":s" : " c0.1 w:s", own);
        }
    }
    for (uint32_t rank = 0; rank < n; rank++)
        run_rank(run, words[rank]);
    run_replay(run);
}

static void ranks_have_no_names(void **state)
{
    (void)state;
    for (enum run_law law = 0; law < LAW_COUNT; law++)
        for (uint64_t seed = 0; seed < 40; seed++) {
            struct chance chance = {.state = seed + 1000};
            struct run_case runs[2];
            size_t n = 3 + chance_below(&chance, MAX_RANKS - 2);
            uint32_t name[2][MAX_RANKS];
            for (uint32_t rank = 0; rank < n; rank++) {
                size_t other = chance_below(&chance, rank + 1);
                name[0][rank] = rank;
                name[1][rank] = name[1][other];
                name[1][other] = rank;
            }
            for (int i = 0; i < 2; i++)
                draw_program(&runs[i], law, seed, name[i], n);
            for (uint32_t rank = 0; rank < n; rank++)
                assert_close(runs[1].result.rank_end_s[name[1][rank]], runs[0].result.rank_end_s[rank], 1e-9);
            for (int i = 0; i < 2; i++)
                run_release(&runs[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message_a_rank),
        cmocka_unit_test(several_messages_a_rank),
        cmocka_unit_test(ranks_have_no_names),
    };
    return cmocka_run_group_tests_name("run_models", tests, NULL, NULL);
}
