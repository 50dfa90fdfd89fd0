/* Tests the replay of whole runs where ranks outnumber processors, by small cases that are worked by hand. Times are
 * ms; 1 MB takes 1 ms. share/doc/MODELS.md, Whole run, Cores. */
#include <setjmp.h>
#include <stdarg.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

/* Two ranks share one core, of one node or of two that are containers of one machine. A message is there at 1.1 while
 * its sender computes until 5: the receiver goes on when its turn of 3 comes, or when the sender is done. Its next wait
 * finds the core free. */
static void cores(void **state)
{
    (void)state;
    static const struct {
        double turn_ms, end_ms;
    } cases[] = {{0, 1.1 + 1}, {3, 4.1 + 1}, {10, 5 + 1}};
    static const uint32_t nodes[2] = {3, 5};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = cases[i / 2].turn_ms * 1e-3};
        run_eager_machine(&run);
        run_ranks(&run, 2, i % 2 == 0 ? NULL : nodes);
        run.program.ranks[0].processors = run.program.ranks[1].processors = 1;
        for (size_t rank = 0; i % 2 == 1 && rank < 2; rank++) {
            run.program.ranks[rank].node = nodes[rank];
            run.program.ranks[rank].machine = 3;
        }
        run_message(&run, 0, 1, MB, 0);
        run_message(&run, 0, 1, MB, 0);
        run_rank(&run, "S0 c5 S1");
        run_rank(&run, "R0 c1 R1");
        run_replay(&run);
        assert_end(&run, 0, 5);
        assert_end(&run, 1, 6.1);
        assert_part(&run, 1, RUN_OTHER, cases[i / 2].end_ms - 2.1);
        run_release(&run);
    }
}

/* Those that compute at the same time share a core evenly: rank 0 needs it for 3, rank 1 for 1, and for 1 again behind
 * 1 that it spends inside MPI: from 0 to 2 and from 3 to 5 both have it. What holds others' computation lasts as
 * recorded. */
static void computations_share(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = 1e-3};
        run_eager_machine(&run);
        run_ranks(&run, 2, NULL);
        for (size_t rank = 0; rank < 2; rank++) {
            run.program.ranks[rank].processors = 1;
            run.program.ranks[rank].own_computation = own;
        }
        run_message(&run, 0, 1, 0, 0);
        run_rank(&run, "c3 S0");
        run_rank(&run, "c1 x1 c1 R0");
        run_replay(&run);
        assert_part(&run, 0, RUN_COMPUTATION, own ? 5 : 3);
        assert_part(&run, 1, RUN_COMPUTATION, own ? 4 : 2);
        run_release(&run);
    }
}

/* The sender has the processor while it computes, others have it while the sender spends as long inside MPI. */
static void core_of_one_that_spends(void **state)
{
    (void)state;
    static const struct {
        const char *sender;
        double other_ms;
    } cases[] = {{"S0 c5 S1", 3.9}, {"S0 x5 S1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = 1};
        run_eager_machine(&run);
        run_ranks(&run, 2, NULL);
        run.program.ranks[0].processors = run.program.ranks[1].processors = 1;
        run_message(&run, 0, 1, MB, 0);
        run_message(&run, 0, 1, MB, 0);
        run_rank(&run, cases[i].sender);
        run_rank(&run, "R0 R1");
        run_replay(&run);
        assert_end(&run, 0, 5);
        assert_end(&run, 1, 6.1);
        assert_part(&run, 1, RUN_OTHER, cases[i].other_ms);
        run_release(&run);
    }
}

/* Both ranks go on when the recording says so, not one after the other: the recorded time of a collective holds the
 * wait for the processor. */
static void core_behind_a_collective(void **state)
{
    (void)state;
    struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = 1};
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run.program.ranks[0].processors = run.program.ranks[1].processors = 1;
    run_collective(&run, DEPENDS_ON_ALL, 0, 1);
    run_rank(&run, "B0 c5");
    run_rank(&run, "B0 c5");
    run_replay(&run);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_end(&run, rank, 6);
        assert_part(&run, rank, RUN_OTHER, 0);
    }
    run_release(&run);
}

/* Two processors serve four ranks. The receiver, rank 1, shares one with rank 2 or 3, which compute until 5 and 0.5, as
 * recorded; where it was is not known, it gets the first that serves the fewest, as does the third of one processor.
 * Rank 2 then waits for nobody. */
static void core_of_each(void **state)
{
    (void)state;
    static const struct {
        int32_t processor[4];
        double end_ms;
    } cases[] = {{{7, 9, 9, 7}, 5},       {{9, 7, 9, 7}, 1.1},  {{7, -1, 7, 9}, 1.1},
                 {{-1, -1, -1, -1}, 1.1}, {{-1, -1, 9, -1}, 5}, {{9, 7, 9, 9}, 1.1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = 1};
        run_eager_machine(&run);
        run_ranks(&run, 4, NULL);
        for (size_t rank = 0; rank < 4; rank++) {
            run.program.ranks[rank].processors = 2;
            run.program.ranks[rank].processor = cases[i].processor[rank];
        }
        run_message(&run, 0, 1, MB, 0);
        run_message(&run, 1, 3, 0, 0);
        run_rank(&run, "S0");
        run_rank(&run, "R0 S1");
        run_rank(&run, "c5");
        run_rank(&run, "c0.5 R1");
        run_replay(&run);
        assert_end(&run, 1, cases[i].end_ms);
        assert_end(&run, 3, cases[i].end_ms + 0.1);
        run_release(&run);
    }
}

/* Rank 1 was on the processor of rank 0, which computes until 5. Where it was recorded on that of rank 2 at its first
 * step, or only from its second one on, it waits for rank 2 instead, which computes until 2. On another node than the
 * recorded one that says nothing. */
static void rank_moves(void **state)
{
    (void)state;
    static const struct {
        uint16_t first, second; /* processors at the steps of rank 1, plus 1 */
        bool elsewhere;
        double end_ms;
    } cases[] = {{0, 0, false, 5}, {8, 8, false, 5}, {10, 10, false, 2}, {8, 10, false, 2}, {10, 10, true, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = 1};
        static const int32_t processor[] = {7, 7, 9};
        run_eager_machine(&run);
        run_ranks(&run, 3, NULL);
        for (size_t rank = 0; rank < 3; rank++) {
            run.program.ranks[rank].processors = 2;
            run.program.ranks[rank].processor = processor[rank];
            run.program.ranks[rank].node += cases[i].elsewhere && rank == 1 ? 1 : 0;
            run.program.ranks[rank].machine = 0;
        }
        run_message(&run, 0, 1, MB, 0);
        run_rank(&run, "S0 c5");
        run_rank(&run, "r0 x0.5 w:r0");
        run_rank(&run, "c2");
        const struct run_strand *strand = &run.program.strands[1];
        for (size_t k = strand->first_step; k < strand->first_step + strand->n_steps; k++)
            run.program.steps[k].processor = k == strand->first_step ? cases[i].first : cases[i].second;
        run_replay(&run);
        assert_end(&run, 1, cases[i].end_ms);
        run_release(&run);
    }
}

/* Rank 2 shares a core with rank 1, which copies 1 MB from rank 0 and then ends. */
static void copy_beside(struct run_case *run, double turn_ms, const char *sender, const char *copier, const char *other)
{
    static const int32_t processor[] = {7, 9, 9};
    *run = (struct run_case){.options.law = LAW_STAIRCASE, .options.turn_s = turn_ms * 1e-3};
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 1e-4, "s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "progress", 0, 2, "1");
    run_ranks(run, 3, NULL);
    for (size_t rank = 0; rank < 3; rank++) {
        run->program.ranks[rank].processors = 2;
        run->program.ranks[rank].processor = processor[rank];
    }
    run_message(run, 0, 1, MB, 0);
    run_message(run, 0, 2, 0, 0);
    run_rank(run, sender);
    run_rank(run, copier);
    run_rank(run, other);
    run_replay(run);
}

/* What its receiver copies waits for a turn of the receiver on its processor, and holds the sender up meanwhile. The
 * receiver goes on at once where it finds the announcement, and has the processor until it is done: what rank 2 waits
 * for is there at 0.8. An announcement that takes until 0.35 is not found at 0.3, and rank 2 goes on first. */
static void copies_take_the_core(void **state)
{
    (void)state;
    static const struct {
        double turn_ms;
        const char *sender, *copier, *other;
        double end_ms[3];
    } cases[] = {
        {10, "S0", "R0", "c5", {6, 6, 5}},
        {2, "S0", "R0", "c5", {3.1, 3.1, 5}},
        {10, "s0 c0.7 S1 w:s0", "c0.3 R0", "R1 c1", {1.4, 1.4, 2.4}},
        {10, "c0.25 s1 s0 w:s0:s1", "c0.3 R0 c1", "R1 c3", {4.35, 5.35, 3.35}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_case run;
        copy_beside(&run, cases[i].turn_ms, cases[i].sender, cases[i].copier, cases[i].other);
        for (uint32_t rank = 0; rank < 3; rank++)
            assert_end(&run, rank, cases[i].end_ms[rank]);
        run_release(&run);
    }
}

/* Rank 1 goes on 0.05 after rank 0 has left their core, and 0.05 after what it waits for is there where both wait. */
static void handover(void **state)
{
    (void)state;
    struct run_case run = {.options.law = LAW_STAIRCASE, .options.turn_s = 1};
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run.program.ranks[0].processors = run.program.ranks[1].processors = 1;
    run.program.handover_s = 5e-5;
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "S0 c5 S1");
    run_rank(&run, "R0 c1 R1");
    run_replay(&run);
    assert_end(&run, 0, 5);
    assert_end(&run, 1, 6.1 + 0.05);
    assert_part(&run, 1, RUN_OTHER, 3.9 + 0.05 + 0.05);
    run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_moves),
        cmocka_unit_test(cores),
        cmocka_unit_test(computations_share),
        cmocka_unit_test(core_of_each),
        cmocka_unit_test(core_of_one_that_spends),
        cmocka_unit_test(core_behind_a_collective),
        cmocka_unit_test(copies_take_the_core),
        cmocka_unit_test(handover),
    };
    return cmocka_run_group_tests_name("run_cores", tests, NULL, NULL);
}
