/* Holds the efficiencies of runs made by lot against what they are to each other (share/doc/MODELS.md, Whole run,
 * Efficiencies): each lies within 0 and 1, and their products are exact, whatever the law, the terms, the processors,
 * the threads, and the change. Each run is made twice: once by a law, as if it had been recorded so, and once by the
 * law at hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run_study/run_study.h"
#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { RUNS = 304, MOST_RANKS = 6, EVENTS = 24, MB = 1000000 };

static const double EXACT = 1e-14;

/* Holds a run, as recorded, and one side by the law at hand. */
struct lot {
    struct run_case run;     /* its result is what was recorded */
    struct model_case other; /* the machine of the side */
    struct run_side side;
    struct chance chance;
    uint64_t seed;
    bool crowded, threads, spawned, modelled, eager;
    char words[MOST_RANKS][4096];
    char waits[MOST_RANKS][256]; /* sends that are not waited for yet */
    unsigned n_sites;            /* one a call, so that the computation of a place is that before one call */
};

/* Counts what the runs had. */
struct seen {
    size_t bounded[2]; /* of measured, of predicted ones */
    double least[EFFICIENCY_COUNT];
};

static uint64_t below(struct lot *lot, uint64_t n)
{
    return chance_below(&lot->chance, n);
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
    va_list values;
    size_t length = strlen(text);
    va_start(values, format);
    int added = vsnprintf(text + length, size - length, format, values);
    va_end(values);
    assert_true(added >= 0 && (size_t)added < size - length);
}

static void add_call(struct lot *lot, size_t rank, const char *kind, unsigned number)
{
    append(lot->words[rank], sizeof lot->words[rank], " k%u c%u %s%u", ++lot->n_sites, (unsigned)below(lot, 4), kind,
           number);
}

static void wait_all(struct lot *lot, size_t rank)
{
    if (lot->waits[rank][0] == '\0')
        return;
    append(lot->words[rank], sizeof lot->words[rank], " k%u c1 w%s", ++lot->n_sites, lot->waits[rank]);
    lot->waits[rank][0] = '\0';
}

static void add_collective(struct lot *lot, size_t n_ranks, uint32_t root)
{
    static const enum run_collective_kind kinds[] = {COLLECTIVE_BARRIER, COLLECTIVE_BCAST, COLLECTIVE_ALLREDUCE,
                                                     COLLECTIVE_ALLTOALL};
    unsigned number = (unsigned)lot->run.program.n_collectives;
    if (lot->modelled)
        run_modelled(&lot->run, kinds[below(lot, 4)], root, (double)below(lot, 100000));
    else
        run_collective(&lot->run, below(lot, 2) == 0 ? DEPENDS_ON_ALL : DEPENDS_ON_ROOT, root, 0.25);
    for (size_t rank = 0; rank < n_ranks; rank++)
        add_call(lot, rank, "B", number);
}

/* Makes a job without deadlock: all ranks take part in what happens in the same order. */
static void make_job(struct lot *lot, size_t n_ranks)
{
    struct run_case *run = &lot->run;
    for (int event = 0; event < EVENTS; event++) {
        size_t src = below(lot, n_ranks), dst = below(lot, n_ranks);
        unsigned number = (unsigned)run->program.n_messages;
        if (src == dst && lot->spawned)
            continue; /* the collectives here are of all ranks */
        if (src == dst) {
            add_collective(lot, n_ranks, (uint32_t)src);
            continue;
        }
        run_message(run, (uint32_t)src, (uint32_t)dst, below(lot, 4) * MB / 2, 0);
        bool blocking = below(lot, 2) == 0;
        add_call(lot, src, blocking ? "S" : "s", number);
        if (!blocking)
            append(lot->waits[src], sizeof lot->waits[src], ":s%u", number);
        add_call(lot, dst, "R", number);
        wait_all(lot, dst);
    }
    for (size_t rank = 0; rank < n_ranks; rank++) {
        wait_all(lot, rank);
        append(lot->words[rank], sizeof lot->words[rank], " k%u c%u", ++lot->n_sites, (unsigned)below(lot, 6));
        run_rank(run, lot->words[rank]);
        if (lot->threads && below(lot, 2) == 0) {
            char words[64];
            snprintf(words, sizeof words, "k%u c%u", ++lot->n_sites, (unsigned)below(lot, 30));
            run_thread(run, words);
        }
    }
}

/* Adds rows of every kind; those that change a rendezvous only where one is wanted. */
static void make_machine(struct lot *lot, struct model_case *c, bool eager)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        enum machine_protocol protocol = eager ? PROTOCOL_EAGER : PROTOCOL_ANY;
        double bandwidth = 1e9 * (double)(1 + below(lot, 3));
        case_value(c, level, protocol, "tau", 0, 1e-5 * (double)below(lot, 30), "s");
        for (uint64_t n = 1; n <= 4; n *= 2, bandwidth *= 1.3)
            case_value(c, level, protocol, "bw", n, bandwidth, "B/s");
        case_value(c, level, PROTOCOL_ANY, "overhead_send", 0, 1e-6 * (double)below(lot, 30), "s");
        case_value(c, level, PROTOCOL_ANY, "injection", 0, 3e9, "B/s");
        if (!eager)
            case_value(c, level, PROTOCOL_ANY, "progress", 0, (double)below(lot, 4), "1");
    }
    case_value(c, LEVEL_COUNT, PROTOCOL_ANY, "gamma", 0, 1e-5, "s");
    case_value(c, LEVEL_COUNT, PROTOCOL_ANY, "delta", 0, 1e-10, "s/B");
    static const struct {
        const char *quantity, *unit;
        double value;
    } rows[] = {{"memory_cores_par", "1", 2},       {"memory_cores_seq", "1", 3},
                {"memory_loss_left", "B/s", 1e9},   {"memory_loss_right", "B/s", 0},
                {"memory_message", "B/s", 10e9},    {"memory_computation", "B/s", 12e9},
                {"memory_total_par", "B/s", 30e9},  {"memory_total_seq", "B/s", 28e9},
                {"memory_total_par2", "B/s", 29e9}, {"memory_alpha", "1", 0.5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        case_value(c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, rows[i].quantity, 0, rows[i].value, rows[i].unit);
        strcpy(c->machine.parameters[c->machine.n_parameters - 1].method, "memory");
    }
}

static void place_ranks(struct lot *lot, size_t n_ranks)
{
    uint32_t processors = 1 + (uint32_t)below(lot, 2);
    for (uint32_t rank = 0; lot->crowded && rank < n_ranks; rank++) {
        struct run_rank *told = &lot->run.program.ranks[rank];
        told->node = told->machine = lot->run.c.placement.node[rank];
        told->processors = processors;
        told->processor = (int32_t)(rank % processors);
        told->own_computation = true;
    }
}

/* Lets the last rank come late, in the place of the one before it, which has nothing to do with it. */
static void spawn(struct lot *lot)
{
    struct run_program *program = &lot->run.program;
    double begin_s = 1e-3 * (double)(80 + below(lot, 100));
    run_rank(&lot->run, "c7");
    run_rank(&lot->run, "c9 x1");
    program->strands[program->n_strands - 1].begin_s = begin_s;
    program->ranks[program->n_ranks - 1].follows = (uint32_t)program->n_ranks - 1;
}

/* Lets what the result says be what was recorded of the run: calls, and so computations, have places of their own. */
static void record(struct lot *lot)
{
    struct run_program *program = &lot->run.program;
    const struct simulation_result *result = &lot->run.result;
    program->measured_run_s = result->end_s - result->begin_s;
    program->shared = calloc(program->n_steps + program->n_strands, sizeof *program->shared);
    assert_non_null(program->shared);
    for (size_t i = 0; i < program->n_steps; i++)
        if (program->steps[i].compute_s > 0)
            program->shared[program->n_shared++] =
                (struct run_shared){i, result->predicted[program->steps[i].place].part_s[RUN_COMPUTATION], false};
    for (size_t i = 0; i < program->n_strands; i++)
        if (program->strands[i].tail_s > 0)
            program->shared[program->n_shared++] =
                (struct run_shared){i, result->predicted[program->strands[i].tail_place].part_s[RUN_COMPUTATION], true};
    for (size_t rank = 0; rank < program->n_ranks; rank++) {
        double there_s = result->rank_end_s[rank] - result->rank_begin_s[rank];
        bool comes_and_goes = lot->spawned && rank + 2 >= program->n_ranks;
        program->ranks[rank].absent_share = comes_and_goes ? 1 - there_s / program->measured_run_s : 0;
    }
}

/* Makes the side: its law, terms, machine, network and computation. */
static void make_side(struct lot *lot)
{
    struct run_program *program = &lot->run.program;
    struct run_side *side = &lot->side;
    struct error error = {0};
    enum run_law law = (enum run_law)(lot->seed % LAW_COUNT);
    unsigned terms = (unsigned)below(lot, 1U << RUN_TERM_COUNT);
    if (law == LAW_NODE_AWARE)
        terms &= ~(unsigned)RUN_TERM_MEMORY;
    make_machine(lot, &lot->other, lot->eager);
    side->machine = lot->other.machine;
    side->placement = lot->run.c.placement;
    side->options = (struct simulation_options){.law = law,
                                                .terms = terms,
                                                .turn_s = lot->run.options.turn_s,
                                                .model_collectives = lot->modelled,
                                                .ideal.no_latency = below(lot, 8) == 0};
    if (below(lot, 3) == 0) {
        side->scale = malloc(program->n_places * sizeof *side->scale);
        assert_non_null(side->scale);
        for (size_t place = 0; place < program->n_places; place++)
            side->scale[place] = 0.25 * (double)below(lot, 9);
        side->options.scale = side->scale;
    }
    if (simulate(program, &side->machine, &side->placement, &side->options, &side->result, &error) != 0)
        fail_msg("seed %d: %s", (int)lot->seed, error.text);
    side->by_rank = calloc(program->n_ranks, sizeof *side->by_rank);
    assert_non_null(side->by_rank);
    run_parts_by_rank(program, side->result.predicted, side->by_rank);
}

static void make(struct lot *lot, uint64_t seed)
{
    static const uint32_t nodes[MOST_RANKS + 2] = {0, 0, 1, 1, 0, 0, 2, 2};
    uint64_t kind = seed / LAW_COUNT;
    *lot = (struct lot){.seed = seed,
                        .chance = {seed},
                        .crowded = kind % 2 == 1,
                        .threads = kind % 3 == 2,
                        .spawned = kind % 5 == 4,
                        .modelled = kind % 4 >= 2,
                        .eager = kind % 7 < 4,
                        .run.options = {.law = (enum run_law)((seed + 3) % LAW_COUNT), .turn_s = 1e-3}};
    size_t n_ranks = 2 + below(lot, MOST_RANKS - 1);
    make_machine(lot, &lot->run.c, true);
    run_ranks(&lot->run, n_ranks + (lot->spawned ? 2 : 0), n_ranks == MOST_RANKS ? nodes : NULL);
    place_ranks(lot, n_ranks);
    make_job(lot, n_ranks);
    if (lot->spawned)
        spawn(lot);
    run_replay(&lot->run);
    record(lot);
    make_side(lot);
}

static void release(struct lot *lot)
{
    simulation_result_release(&lot->side.result);
    free(lot->side.by_rank);
    free(lot->side.scale);
    case_release(&lot->other);
    run_release(&lot->run);
}

static bool is_product(double product, double a, double b)
{
    return fabs(a * b - product) <= EXACT * product;
}

/* Says whether efficiencies are what they must be to each other. */
static bool hold(const struct run_efficiencies *e)
{
    const double *share = e->share;
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++)
        if (!(share[kind] >= 0 && share[kind] <= 1))
            return false;
    return is_product(share[EFFICIENCY_PARALLEL], share[EFFICIENCY_LOAD_BALANCE], share[EFFICIENCY_COMMUNICATION]) &&
           is_product(share[EFFICIENCY_COMMUNICATION], share[EFFICIENCY_SERIALISATION], share[EFFICIENCY_TRANSFER]);
}

static int bound_of(const struct run_efficiencies *e, enum run_efficiency kind)
{
    return run_efficiency_bound(kind, e->share[EFFICIENCY_COMMUNICATION], e->ideal);
}

/* Computes both kinds of efficiencies of a lot. */
static void compute(struct lot *lot, struct run_efficiencies *measured, struct run_efficiencies *predicted)
{
    struct error error = {0};
    if (run_efficiencies_predict(&lot->run.program, &lot->side, predicted, &error) != 0 ||
        run_efficiencies_measure(&lot->run.program, &lot->side, lot->run.parts, measured, NULL, &error) != 0)
        fail_msg("seed %d: %s", (int)lot->seed, error.text);
}

static void note(const struct lot *lot, const struct run_efficiencies *e, int of, struct seen *seen)
{
    if (!hold(e)) {
        const double *share = e->share;
        fail_msg("seed %d, %s, %s: parallel %.17g, load balance %.17g, communication %.17g, serialisation %.17g, "
                 "transfer %.17g, ideal %.17g",
                 (int)lot->seed, run_law_table[lot->side.options.law].name, of == 0 ? "measured" : "predicted",
                 share[EFFICIENCY_PARALLEL], share[EFFICIENCY_LOAD_BALANCE], share[EFFICIENCY_COMMUNICATION],
                 share[EFFICIENCY_SERIALISATION], share[EFFICIENCY_TRANSFER], e->ideal);
    }
    assert_int_equal(bound_of(e, EFFICIENCY_SERIALISATION), -bound_of(e, EFFICIENCY_TRANSFER));
    seen->bounded[of] += bound_of(e, EFFICIENCY_TRANSFER) != 0;
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++)
        seen->least[kind] = fmin(seen->least[kind], e->share[kind]);
}

/* Where each rank computes once at a time, measured ones need no bound if the table blocks nobody whom the recorded
 * run did not, and predicted ones need none if nobody shares a processor. */
static void by_lot(void **state)
{
    (void)state;
    struct seen seen = {.least = {1, 1, 1, 1, 1}};
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct lot lot;
        struct run_efficiencies measured, predicted;
        make(&lot, seed);
        compute(&lot, &measured, &predicted);
        note(&lot, &measured, 0, &seen);
        note(&lot, &predicted, 1, &seen);
        if (lot.eager && !lot.threads && bound_of(&measured, EFFICIENCY_TRANSFER) != 0)
            fail_msg(
                "seed %d: the measured run on an ideal network takes %.17g of the run, the longest computation %.17g",
                (int)seed, measured.ideal, measured.share[EFFICIENCY_COMMUNICATION]);
        if (!lot.crowded && !lot.threads && bound_of(&predicted, EFFICIENCY_TRANSFER) != 0)
            fail_msg(
                "seed %d: the predicted run on an ideal network takes %.17g of the run, the longest computation %.17g",
                (int)seed, predicted.ideal, predicted.share[EFFICIENCY_COMMUNICATION]);
        release(&lot);
    }
    printf("%d runs: %zu measured, %zu predicted were bounded; least parallel %.2f, load balance %.2f, communication "
           "%.2f, "
           "serialisation %.2f, transfer %.2f\n",
           RUNS, seen.bounded[0], seen.bounded[1], seen.least[EFFICIENCY_PARALLEL], seen.least[EFFICIENCY_LOAD_BALANCE],
           seen.least[EFFICIENCY_COMMUNICATION], seen.least[EFFICIENCY_SERIALISATION], seen.least[EFFICIENCY_TRANSFER]);
    for (enum run_efficiency kind = 0; kind < EFFICIENCY_COUNT; kind++)
        assert_true(seen.least[kind] < 0.9);
}

/* What the tests above look for is found where it is planted. */
static void planted(void **state)
{
    (void)state;
    size_t n_unbounded = 0, n_mixed = 0, n_beside = 0;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        struct lot lot;
        struct run_efficiencies measured, predicted, wrong;
        make(&lot, seed);
        compute(&lot, &measured, &predicted);
        wrong = predicted; /* the ideal run is taken as it comes */
        wrong.share[EFFICIENCY_TRANSFER] = wrong.ideal;
        wrong.share[EFFICIENCY_SERIALISATION] = wrong.share[EFFICIENCY_COMMUNICATION] / wrong.ideal;
        n_unbounded += !hold(&wrong);
        wrong = measured; /* quotients of different runs */
        wrong.share[EFFICIENCY_TRANSFER] = predicted.share[EFFICIENCY_TRANSFER];
        n_beside += !hold(&wrong);
        size_t n_shared = lot.run.program.n_shared; /* the ranks' own computation beside the recorded run */
        lot.run.program.n_shared = 0;
        compute(&lot, &wrong, &predicted);
        lot.run.program.n_shared = n_shared;
        n_mixed += lot.crowded && lot.eager && !lot.threads && bound_of(&wrong, EFFICIENCY_TRANSFER) != 0;
        release(&lot);
    }
    printf("planted and found: %zu unbounded, %zu of another run, %zu of own computation\n", n_unbounded, n_beside,
           n_mixed);
    assert_true(n_unbounded > 0 && n_beside > RUNS / 2 && n_mixed > 10);
}

/* Two ranks of one processor compute for 2 ms each at the same time, so that both take 4 ms as recorded. Rank 1 waits
 * for rank 0's message of 1 ms, which is gone on an ideal network. */
static void by_hand(void **state)
{
    (void)state;
    struct lot lot = {.run.options = {.law = LAW_POSTAL, .turn_s = 1e-3}, .seed = LAW_POSTAL};
    struct run_efficiencies measured, predicted;
    struct run_case *run = &lot.run;
    run_eager_machine(run);
    run_ranks(run, 2, NULL);
    for (size_t rank = 0; rank < 2; rank++) {
        run->program.ranks[rank].processors = 1;
        run->program.ranks[rank].own_computation = true;
    }
    run_message(run, 0, 1, MB, 0);
    run_rank(run, "k1 c2 S0");
    run_rank(run, "k2 c2 R0 k3 c1");
    run_replay(run);
    record(&lot);
    assert_close(run->program.measured_run_s, 6.1e-3, 1e-12);
    lot.side = (struct run_side){.machine = run->c.machine,
                                 .placement = run->c.placement,
                                 .options = run->options,
                                 .result = run->result,
                                 .by_rank = run->parts};
    compute(&lot, &measured, &predicted);
    const struct run_efficiencies *both[] = {&measured, &predicted};
    for (int i = 0; i < 2; i++) {
        const double *share = both[i]->share;
        assert_true(hold(both[i]));
        assert_close(share[EFFICIENCY_PARALLEL], 4.5 / 6.1, 1e-12);
        assert_close(share[EFFICIENCY_LOAD_BALANCE], 4.5 / 5, 1e-12);
        assert_close(share[EFFICIENCY_COMMUNICATION], 5 / 6.1, 1e-12);
        assert_close(share[EFFICIENCY_SERIALISATION], 1, 1e-12);
        assert_close(share[EFFICIENCY_TRANSFER], 5 / 6.1, 1e-12);
        assert_int_equal(bound_of(both[i], EFFICIENCY_TRANSFER), 0);
    }
    run_release(run);
}

/* A run on an ideal network that is longer than the run, or shorter than the longest computation, is bounded. */
static void bounds(void **state)
{
    (void)state;
    static const struct {
        double ideal_s, serialisation, transfer;
        int of_transfer;
    } cases[] = {{8, 0.5, 1, 0}, {4, 1, 0.5, 0}, {5, 0.8, 0.625, 0}, {16.7, 0.5, 1, -1}, {3, 1, 0.5, 1}};
    struct run_program program = {0};
    run_program_ranks(&program, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double computed_s[] = {4, 2};
        const struct run_efficiencies e = run_efficiencies_of(&program, computed_s, 8, cases[i].ideal_s);
        assert_true(hold(&e));
        assert_close(e.share[EFFICIENCY_SERIALISATION], cases[i].serialisation, 1e-15);
        assert_close(e.share[EFFICIENCY_TRANSFER], cases[i].transfer, 1e-15);
        assert_int_equal(bound_of(&e, EFFICIENCY_TRANSFER), cases[i].of_transfer);
        assert_int_equal(bound_of(&e, EFFICIENCY_SERIALISATION), -cases[i].of_transfer);
        assert_int_equal(bound_of(&e, EFFICIENCY_COMMUNICATION), 0);
    }
    program.ranks[1].follows = 1; /* before its place was free, as predicted: 6 and 4 of 8 */
    const struct run_efficiencies early = run_efficiencies_of(&program, (double[]){6, 4}, 8, 8);
    assert_true(hold(&early));
    assert_close(early.share[EFFICIENCY_COMMUNICATION], 1, 1e-15);
    assert_close(early.share[EFFICIENCY_PARALLEL], 0.625, 1e-15);
    const struct run_efficiencies none = run_efficiencies_of(&program, (double[]){0, 0}, 8, 1);
    assert_true(isnan(none.share[EFFICIENCY_PARALLEL]) && isnan(none.share[EFFICIENCY_TRANSFER]));
    run_program_release(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(bounds),
        cmocka_unit_test(by_lot),
        cmocka_unit_test(planted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
