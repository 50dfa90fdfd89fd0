/* Tests modelled collectives in the replay of whole runs, by hand. Times are ms. Ranks are on nodes of their own, a
 * message takes tau = 0.1 and 1 MB takes 1 unless a case says otherwise. share/doc/MODELS.md, Whole run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000, MOST_RANKS = 33 };
static const uint32_t apart[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

static void begin_on(struct run_case *run, enum run_mpi_family family, size_t n, const uint32_t *node)
{
    *run = (struct run_case)RUN_CASE;
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        case_value(&run->c, level, PROTOCOL_ANY, "tau", 0, 1e-4, "s");
        case_value(&run->c, level, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    }
    run_ranks(run, n, node);
    run->program.mpi_family = family;
}

/* Replays one collective of n ranks, rank r of which computes late_ms[r] before (NULL: nothing). */
static void play(struct run_case *run, enum run_mpi_family family, uint32_t n, enum run_collective_kind kind,
                 uint32_t root, double bytes, const double *late_ms)
{
    begin_on(run, family, n, apart);
    run_modelled(run, kind, root, bytes);
    for (uint32_t rank = 0; rank < n; rank++) {
        char words[40];
        snprintf(words, sizeof words, "c%g B0", late_ms != NULL ? late_ms[rank] : 0);
        run_rank(run, words);
    }
    run_replay(run);
}

static void assert_ends(struct run_case *run, const double *end_ms)
{
    for (uint32_t rank = 0; rank < run->program.n_ranks; rank++)
        assert_end(run, rank, end_ms[rank]);
    run_release(run);
}

static void assert_all_end(struct run_case *run, double end_ms)
{
    for (uint32_t rank = 0; rank < run->program.n_ranks; rank++) {
        assert_end(run, rank, end_ms);
        assert_part(run, rank, RUN_COLLECTIVE_TRANSFER, end_ms);
    }
    run_release(run);
}

/* 2 (p - 1) (tau + n / p / BW), by the sizes at which Open MPI takes a ring. */
static void ring_allreduce(void **state)
{
    (void)state;
    struct run_case run;
    for (uint32_t p = 2; p <= 3; p++) {
        play(&run, MPI_FAMILY_OPEN_MPI, p, COLLECTIVE_ALLREDUCE, UINT32_MAX, 49152, NULL);
        assert_all_end(&run, 2 * (p - 1) * (0.1 + 49.152e-3 / p));
    }
}

/* Five ranks: 0 folds its vector onto 1 and gets it back last. */
static void doubling_allreduce(void **state)
{
    (void)state;
    const double step = 0.1 + 8e-6;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 8, COLLECTIVE_ALLREDUCE, UINT32_MAX, 8, NULL);
    assert_all_end(&run, 3 * step);
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_ALLREDUCE, UINT32_MAX, 8, NULL);
    assert_ends(&run, (const double[]){4 * step, 4 * step, 3 * step, 3 * step, 3 * step});
}

/* Halves, quarters, quarters, halves; 0 folds before and unfolds after. */
static void rabenseifner(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_ALLREDUCE, UINT32_MAX, MB, NULL);
    assert_all_end(&run, 4 * 0.1 + 1.5);
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_ALLREDUCE, UINT32_MAX, MB, NULL);
    assert_ends(&run, (const double[]){4.1, 4.1, 3.0, 3.0, 3.0});
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_REDUCE, 2, MB, NULL);
    /* All is combined at 0.95; then a quarter goes from 0 to 2, from 1 to 3, and a half from 3 to 2 */
    assert_ends(&run, (const double[]){1.3, 1.3, 1.9, 1.9});
}

/* The root serves one child after the other, the largest subtree first. */
static void binomial_bcast(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_BCAST, 0, MB, NULL);
    assert_ends(&run, (const double[]){2.2, 2.2, 2.2, 2.2});
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_BCAST, 0, MB, NULL);
    assert_ends(&run, (const double[]){3.3, 3.3, 3.3, 3.3, 1.1});
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_BCAST, 3, MB, NULL);
    assert_ends(&run, (const double[]){3.3, 3.3, 1.1, 3.3, 3.3});
}

/* The root of a bcast comes last, and one in the middle of the tree: the ranks below wait for both. */
static void late_bcast(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_BCAST, 0, MB, (const double[]){2, 0, 5, 1});
    assert_part(&run, 1, RUN_COLLECTIVE_WAIT, 5); /* served after 2, which is at 6.1 */
    assert_part(&run, 1, RUN_COLLECTIVE_TRANSFER, 2.2);
    assert_part(&run, 3, RUN_COLLECTIVE_WAIT, 4);
    assert_part(&run, 0, RUN_COLLECTIVE_WAIT, 3);
    assert_ends(&run, (const double[]){7.2, 7.2, 7.2, 7.2});
}

static void late_barrier(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 3, COLLECTIVE_BARRIER, UINT32_MAX, 0, (const double[]){1, 2, 5});
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_part(&run, rank, RUN_COLLECTIVE_WAIT, rank == 0 ? 4 : rank == 1 ? 3 : 0);
        assert_part(&run, rank, RUN_COLLECTIVE_TRANSFER, 0.2);
    }
    assert_ends(&run, (const double[]){5.2, 5.2, 5.2});
}

static void alltoalls(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 8, COLLECTIVE_ALLTOALL, UINT32_MAX, 8 * 256, NULL); /* Bruck: 4 blocks a round */
    assert_all_end(&run, 3 * (0.1 + 4 * 0.256e-3));
    play(&run, MPI_FAMILY_MPICH, 9, COLLECTIVE_ALLTOALL, UINT32_MAX, 9 * 256, NULL); /* 4, 4, 4 and 1 */
    assert_all_end(&run, 4 * 0.1 + 13 * 0.256e-3);
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_ALLTOALL, UINT32_MAX, 4 * MB, NULL); /* pairwise */
    assert_all_end(&run, 3 * 1.1);
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_ALLTOALL, UINT32_MAX, 5 * MB, NULL);
    assert_all_end(&run, 4 * 1.1);
    play(&run, MPI_FAMILY_OPEN_MPI, 4, COLLECTIVE_ALLTOALL, UINT32_MAX, 4 * 2 * MB, NULL); /* three at once */
    assert_all_end(&run, 0.1 + 3 * 2);
}

static void allgathers(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_ALLGATHER, UINT32_MAX, 1e5, NULL); /* doubling: 1 and 2 blocks */
    assert_all_end(&run, 2 * 0.1 + 3 * 0.1);
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_ALLGATHER, UINT32_MAX, 1e4, NULL); /* Bruck: 1, 2, 1 */
    assert_all_end(&run, 3 * 0.1 + 4 * 0.01);
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_ALLGATHER, UINT32_MAX, 1e6, NULL); /* ring */
    assert_all_end(&run, 4 * 1.1);
}

static void gather_and_scatter(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_GATHER, 0, MB, NULL);
    assert_ends(&run, (const double[]){3.2, 1.1, 3.2, 1.1});
    play(&run, MPI_FAMILY_MPICH, 5, COLLECTIVE_GATHER, 0, MB, NULL);
    assert_ends(&run, (const double[]){4.3, 1.1, 3.2, 1.1, 4.3});
    begin_on(&run, MPI_FAMILY_MPICH, 4, apart);
    run_modelled(&run, COLLECTIVE_SCATTER, 1, MB);
    run.program.members[1].bytes = 4 * MB; /* the root has them all */
    for (uint32_t rank = 0; rank < 4; rank++)
        run_rank(&run, "B0");
    run_replay(&run);
    assert_ends(&run, (const double[]){3.2, 3.2, 3.2, 2.1 + 1.1});
    begin_on(&run, MPI_FAMILY_MPICH, 3, apart);
    run_modelled(&run, COLLECTIVE_GATHER, 2, MB);
    run.program.collectives[0].flags = COLLECTIVE_VARIES;
    run.program.members[0].bytes = 3 * MB;
    for (uint32_t rank = 0; rank < 3; rank++)
        run_rank(&run, "B0");
    run_replay(&run); /* both at once: 1 MB of each at 2.1, the other 2 MB at 4.1 */
    assert_ends(&run, (const double[]){4.1, 2.1, 4.1});
}

static void scans_and_reduce_scatter(void **state)
{
    (void)state;
    struct run_case run;
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_SCAN, UINT32_MAX, MB, NULL);
    assert_all_end(&run, 2.2);
    play(&run, MPI_FAMILY_OPEN_MPI, 4, COLLECTIVE_SCAN, UINT32_MAX, MB, NULL); /* from one to the next */
    assert_ends(&run, (const double[]){1.1, 2.2, 3.3, 3.3});
    play(&run, MPI_FAMILY_MPICH, 4, COLLECTIVE_REDUCE_SCATTER, UINT32_MAX, 4e5, NULL); /* halves, quarters */
    assert_all_end(&run, 2 * 0.1 + 0.3);
    play(&run, MPI_FAMILY_MPICH, 3, COLLECTIVE_REDUCE_SCATTER, UINT32_MAX, 3 * MB, NULL); /* pairwise */
    assert_all_end(&run, 2 * 1.1);
}

/* Messages move while both compute, although the level's rule says that they do not. */
static void nonblocking(void **state)
{
    (void)state;
    struct run_case run;
    begin_on(&run, MPI_FAMILY_MPICH, 2, apart);
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_ANY, "progress", 0, 3, "1");
    run_modelled(&run, COLLECTIVE_ALLREDUCE, UINT32_MAX, 8);
    run_rank(&run, "c1 b0 c1 w:b0");
    run_rank(&run, "c3 b0 c1 w:b0");
    run_replay(&run);
    assert_part(&run, 0, RUN_COLLECTIVE_WAIT, 1);
    assert_part(&run, 0, RUN_COLLECTIVE_TRANSFER, 0.1 + 8e-6);
    assert_part(&run, 1, RUN_COLLECTIVE_TRANSFER, 0);
    assert_ends(&run, (const double[]){3.1 + 8e-6, 4});
}

/* Ranks 0 to 2 and 3 to 4 have communicators of their own; rank 4 is the root of the second one. */
static void subcommunicators(void **state)
{
    (void)state;
    struct run_case run;
    begin_on(&run, MPI_FAMILY_MPICH, 5, apart);
    run_modelled(&run, COLLECTIVE_BCAST, 0, MB);
    const struct run_collective second = {.first_member = 3, .n_members = 2, .root = 1, .kind = COLLECTIVE_BCAST};
    run_program_collective(&run.program, &second);
    run.program.collectives[0].n_members = 3;
    run.program.members[3].collective = run.program.members[4].collective = 1;
    for (uint32_t rank = 0; rank < 5; rank++)
        run_rank(&run, rank == 4 ? "c3 B0" : "B0");
    run_replay(&run);
    assert_part(&run, 3, RUN_COLLECTIVE_WAIT, 3);
    assert_ends(&run, (const double[]){2.2, 2.2, 1.1, 4.1, 4.1});
}

/* The nodes reduce within themselves, their first ranks among each other, and then spread the result. */
static void two_levels(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 0, 1, 1}, mixed[] = {0, 1, 1, 0};
    const double step = 0.1 + 8e-6;
    struct run_case run;
    begin_on(&run, MPI_FAMILY_MPICH, 4, node);
    run_modelled(&run, COLLECTIVE_ALLREDUCE, UINT32_MAX, 8);
    for (uint32_t rank = 0; rank < 4; rank++)
        run_rank(&run, "B0");
    run_replay(&run);
    assert_all_end(&run, 3 * step);
    begin_on(&run, MPI_FAMILY_MPICH, 4, mixed); /* 3 to 0, 0 to 1, then 0 to 3 and 1 to 2 */
    run_modelled(&run, COLLECTIVE_BCAST, 3, 1000);
    for (uint32_t rank = 0; rank < 4; rank++)
        run_rank(&run, "B0");
    run_replay(&run);
    assert_all_end(&run, 3 * (0.1 + 1e-3));
}

/* Two messages into one socket share its 1 GB/s; one between the ranks of a third makes that a third. */
static void sharing(void **state)
{
    (void)state;
    static const uint32_t together[] = {0, 0, 0, 0};
    struct run_case run;
    begin_on(&run, MPI_FAMILY_OPEN_MPI, 2, together);
    run_modelled(&run, COLLECTIVE_ALLGATHER, UINT32_MAX, MB);
    run_rank(&run, "B0");
    run_rank(&run, "B0");
    run_replay(&run);
    assert_all_end(&run, 2.1);
    begin_on(&run, MPI_FAMILY_OPEN_MPI, 4, together);
    run_message(&run, 2, 3, MB, 0);
    run_modelled(&run, COLLECTIVE_ALLGATHER, UINT32_MAX, MB);
    run.program.collectives[0].n_members = 2;
    const struct run_collective rest = {.first_member = 2, .n_members = 2, .root = UINT32_MAX};
    run_program_collective(&run.program, &rest);
    run.program.members[2].collective = run.program.members[3].collective = 1;
    run_rank(&run, "B0");
    run_rank(&run, "B0");
    run_rank(&run, "S0");
    run_rank(&run, "R0");
    run_replay(&run);
    assert_part(&run, 3, RUN_CONTENTION, 2);
    assert_ends(&run, (const double[]){3.1, 3.1, 3.1, 3.1});
}

/* An eager gather lets the others go; posts cost what the table says. */
static void eager(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_EAGER, "tau", 0, 1e-4, "s");
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_EAGER, "bw", 1, 1e9, "B/s");
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_EAGER, "overhead_send", 0, 2e-5, "s");
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_EAGER, "overhead_receive", 0, 1e-5, "s");
    run_ranks(&run, 2, apart);
    run_modelled(&run, COLLECTIVE_GATHER, 0, MB);
    run_rank(&run, "c5 B0");
    run_rank(&run, "c1 B0");
    run_replay(&run);
    assert_part(&run, 1, RUN_COLLECTIVE_TRANSFER, 0.02);
    assert_part(&run, 0, RUN_COLLECTIVE_TRANSFER, 0.01); /* it had come by 2.1 */
    assert_ends(&run, (const double[]){5.01, 1.02});
}

/* All kinds, with ranks that come at any time: no deadlock, parts add up, nobody leaves before the last where all
 * depend on all, twice the same. */
static void all_kinds(void **state)
{
    (void)state;
    static const double sizes[] = {8, 5000, 50000, MB};
    static const uint32_t node[MOST_RANKS] = {0, 0, 0, 1, 1, 1, 0, 2, 3, 3, 2, 2};
    uint64_t chance = 88172645463325252U;
    for (int family = MPI_FAMILY_MPICH; family <= MPI_FAMILY_OPEN_MPI; family++)
        for (uint32_t n = 1; n <= MOST_RANKS; n += n == 9 ? 3 : n == 12 ? 4 : n == 16 ? 17 : 1)
            for (int kind = COLLECTIVE_BARRIER; kind < COLLECTIVE_KIND_COUNT; kind++)
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                    struct run_case run[2];
                    double late_ms[MOST_RANKS], last_ms = 0;
                    for (uint32_t rank = 0; rank < n; rank++) {
                        chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
                        late_ms[rank] = (double)(chance >> 40) / (double)(1 << 24);
                        last_ms = fmax(last_ms, late_ms[rank]);
                    }
                    for (int twice = 0; twice < 2; twice++) {
                        begin_on(&run[twice], (enum run_mpi_family)family, n, i % 2 == 0 && n <= 12 ? node : apart);
                        run_modelled(&run[twice], (enum run_collective_kind)kind, n / 2, sizes[i]);
                        run_modelled(&run[twice], COLLECTIVE_BARRIER, UINT32_MAX, 0);
                        for (uint32_t rank = 0; rank < n; rank++) {
                            char words[60];
                            snprintf(words, sizeof words, "c%.17g B0 c0.5 B1", late_ms[rank]);
                            run_rank(&run[twice], words);
                        }
                        run_replay(&run[twice]);
                    }
                    for (uint32_t rank = 0; rank < n; rank++) {
                        double end_ms = run[0].result.rank_end_s[rank] * 1e3;
                        assert_end(&run[0], rank, end_ms);
                        assert_true(end_ms >= last_ms + 0.5 - 1e-9);
                        assert_true(run[0].result.rank_end_s[rank] == run[1].result.rank_end_s[rank]);
                    }
                    run_release(&run[0]);
                    run_release(&run[1]);
                }
}

/* A collective that no rule knows stays as recorded, and a level that the machine lacks is named. */
static void not_modelled(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    struct run_case run;
    struct error error = {0};
    begin_on(&run, MPI_FAMILY_MPICH, 2, apart);
    run_modelled(&run, COLLECTIVE_OTHER, UINT32_MAX, 8);
    run_rank(&run, "B0");
    run_rank(&run, "B0");
    run_replay(&run);
    assert_all_end(&run, 1000);
    run = (struct run_case)RUN_CASE;
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 1e-4, "s");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    run_ranks(&run, 2, node);
    run_modelled(&run, COLLECTIVE_BARRIER, UINT32_MAX, 0);
    run_rank(&run, "B0");
    run_rank(&run, "B0");
    assert_int_equal(simulate(&run.program, &run.c.machine, &run.c.placement, &run.options, &run.result, &error), -1);
    assert_non_null(strstr(error.text, "no values for level inter_node"));
    run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_allreduce),
        cmocka_unit_test(doubling_allreduce),
        cmocka_unit_test(rabenseifner),
        cmocka_unit_test(binomial_bcast),
        cmocka_unit_test(late_bcast),
        cmocka_unit_test(late_barrier),
        cmocka_unit_test(alltoalls),
        cmocka_unit_test(allgathers),
        cmocka_unit_test(gather_and_scatter),
        cmocka_unit_test(scans_and_reduce_scatter),
        cmocka_unit_test(nonblocking),
        cmocka_unit_test(subcommunicators),
        cmocka_unit_test(two_levels),
        cmocka_unit_test(sharing),
        cmocka_unit_test(eager),
        cmocka_unit_test(all_kinds),
        cmocka_unit_test(not_modelled),
    };
    return cmocka_run_group_tests_name("run_collectives", tests, NULL, NULL);
}
