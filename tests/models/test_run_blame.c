/* Tests who is to blame for waiting and the critical path by small cases that are worked by hand, and by laws on jobs
 * made by chance. Times are ms; 1 MB takes 1 ms. share/doc/MODELS.md, Whole run, has the rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run/run_blame.h"
#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

struct blamed {
    struct run_case run;
    struct run_blame blame;
};

static void blame_of(struct blamed *blamed)
{
    blamed->run.options.log = true;
    run_replay(&blamed->run);
    assert_int_equal(run_blame(&blamed->run.program, &blamed->run.options, &blamed->run.result, &blamed->blame), 0);
}

static void release(struct blamed *blamed)
{
    run_blame_release(&blamed->blame);
    run_release(&blamed->run);
}

static void assert_ms(const char *what, size_t rank, uint32_t site, double found_s, double ms)
{
    if (!(fabs(found_s * 1e3 - ms) <= 1e-9 * fmax(fabs(ms), 1)))
        fail_msg("%s of rank %zu, site %u: %.12g ms, expected %.12g", what, rank, site, found_s * 1e3, ms);
}

static void assert_cost(struct blamed *blamed, uint32_t rank, uint32_t site, double ms)
{
    assert_ms("cost", rank, site, blamed->blame.cost_s[run_place_of(&blamed->run, rank, site)], ms);
}

static void assert_critical(struct blamed *blamed, uint32_t rank, uint32_t site, double ms)
{
    assert_ms("critical path", rank, site, blamed->blame.critical_s[run_place_of(&blamed->run, rank, site)], ms);
}

/* 0 to 1 to 2: rank 0 computes 3 ms longer, and both others wait for that. */
static void chain(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 3, NULL);
    run_message(&b.run, 0, 1, MB, 0);
    run_message(&b.run, 1, 2, MB, 0);
    run_rank(&b.run, "c5 S0");
    run_rank(&b.run, "c2 R0 S1");
    run_rank(&b.run, "c3 R1 c1");
    blame_of(&b);
    assert_cost(&b, 0, 0, 6);
    assert_cost(&b, 1, 0, 0);
    assert_cost(&b, 2, 0, 0);
    assert_critical(&b, 0, 0, 5);
    assert_critical(&b, 1, 0, 1); /* the transfer to it */
    assert_critical(&b, 2, 0, 1 + 1);
    release(&b);
}

/* Three waits in a row, the first of them for rank 0, whose computation is handed on through two ranks. */
static void handed_on(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 4, NULL);
    for (uint32_t i = 0; i < 3; i++)
        run_message(&b.run, i, i + 1, 0, 0);
    run_rank(&b.run, "c5 S0");
    run_rank(&b.run, "c1 R0 S1");
    run_rank(&b.run, "c1 R1 S2");
    run_rank(&b.run, "c1 R2");
    blame_of(&b);
    assert_cost(&b, 0, 0, 12);
    assert_critical(&b, 0, 0, 5);
    release(&b);
}

/* Rank 2 waits 5 ms for rank 1, which computed 1 ms more than it and waited 3 ms for rank 0: 5/4 and 15/4. */
static void shared(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 3, NULL);
    run_message(&b.run, 0, 1, MB, 0);
    run_message(&b.run, 1, 2, MB, 0);
    run_rank(&b.run, "c5 S0");
    run_rank(&b.run, "c2 R0 c2 S1");
    run_rank(&b.run, "c3 R1 c1");
    blame_of(&b);
    assert_cost(&b, 1, 0, 1.25);
    assert_cost(&b, 0, 0, 3.75 + 3);
    assert_ms("waits", 2, 0, b.blame.late_s[2], 5);
    assert_critical(&b, 0, 0, 5);
    assert_critical(&b, 1, 0, 1 + 2);
    release(&b);
}

static void late_receiver(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 2, NULL);
    run_message(&b.run, 0, 1, MB, 0);
    run_rank(&b.run, "c1 S0");
    run_rank(&b.run, "c5 R0");
    blame_of(&b);
    assert_cost(&b, 1, 0, 4);
    assert_cost(&b, 0, 0, 0);
    assert_critical(&b, 1, 0, 5);
    assert_critical(&b, 0, 0, 1);
    release(&b);
}

/* The last of a barrier costs all others what they wait; ranks that come between cost nobody anything. */
static void collective(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 3, NULL);
    run_collective(&b.run, DEPENDS_ON_ALL, 0, 0.5);
    run_rank(&b.run, "c1 B0");
    run_rank(&b.run, "c2 B0");
    run_rank(&b.run, "c5 B0 c1");
    blame_of(&b);
    assert_cost(&b, 2, 0, 4 + 3);
    assert_cost(&b, 1, 0, 0);
    assert_critical(&b, 2, 0, 6.5);
    release(&b);
}

/* Checks that a rank which waits for the root of a broadcast blames the root, whoever comes last. */
static void broadcast(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 3, NULL);
    run_collective(&b.run, DEPENDS_ON_ROOT, 1, 0);
    run_rank(&b.run, "c1 B0");
    run_rank(&b.run, "c4 B0");
    run_rank(&b.run, "c6 B0");
    blame_of(&b);
    assert_cost(&b, 1, 0, 3);
    assert_cost(&b, 2, 0, 0);
    release(&b);
}

/* Both compute 2 ms before site 1; before site 2 rank 0 computes 4 ms more. */
static void imbalance_by_site(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 2, NULL);
    run_collective(&b.run, DEPENDS_ON_NOBODY, 0, 0);
    run_collective(&b.run, DEPENDS_ON_ALL, 0, 0);
    run_rank(&b.run, "k1 c2 B0 k2 c5 B1");
    run_rank(&b.run, "k1 c2 B0 k2 c1 B1");
    blame_of(&b);
    assert_cost(&b, 0, 2, 4);
    assert_cost(&b, 0, 1, 0);
    assert_critical(&b, 0, 1, 2);
    assert_critical(&b, 0, 2, 5);
    release(&b);
}

/* Computation before the last meeting of both is not charged. */
static void since_the_meeting(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 2, NULL);
    run_collective(&b.run, DEPENDS_ON_ALL, 0, 0);
    run_collective(&b.run, DEPENDS_ON_ALL, 0, 0);
    run_rank(&b.run, "k1 c9 B0 k2 c1 B1");
    run_rank(&b.run, "k1 c2 B0 k2 c4 B1");
    blame_of(&b);
    assert_cost(&b, 0, 1, 7);
    assert_cost(&b, 1, 2, 3);
    assert_cost(&b, 0, 2, 0);
    assert_critical(&b, 0, 1, 9);
    assert_critical(&b, 1, 2, 4);
    release(&b);
}

/* Rank 1 is 4 ms late for its second receive, as it computed before it looked at the first message, which had come long
 * before: the computation behind that is next to nothing. */
static void before_the_meeting(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 2, NULL);
    run_message(&b.run, 0, 1, 0, 0);
    run_message(&b.run, 0, 1, 0, 0);
    run_rank(&b.run, "k1 S0 k2 c1 S1");
    run_rank(&b.run, "k1 r0 k3 c5 w:r0 k4 c0.01 R1");
    blame_of(&b);
    assert_cost(&b, 1, 3, 4.01 * 5 / 5.01);
    assert_cost(&b, 1, 4, 4.01 * 0.01 / 5.01);
    release(&b);
}

static void alone(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 1, NULL);
    run_rank(&b.run, "c2");
    blame_of(&b);
    assert_cost(&b, 0, 0, 0);
    assert_critical(&b, 0, 0, 2);
    release(&b);
}

enum { MOST_RANKS = 6, EVENTS = 24 };

struct lot {
    struct {
        char words[1024];
        char waits[256]; /* sends that are not waited for yet */
    } ranks[MOST_RANKS];
    struct chance chance;
};

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size, const char *format, ...)
{
    va_list values;
    size_t length = strlen(text);
    va_start(values, format);
    int added = vsnprintf(text + length, size - length, format, values);
    va_end(values);
    assert_true(added >= 0 && (size_t)added < size - length);
}

static void add_word(struct lot *lot, size_t rank, const char *kind, unsigned number)
{
    unsigned site = (unsigned)chance_below(&lot->chance, 3), ms = (unsigned)chance_below(&lot->chance, 4);
    append(lot->ranks[rank].words, sizeof lot->ranks[rank].words, " k%u c%u %s%u", site, ms, kind, number);
}

static void wait_all(struct lot *lot, size_t rank)
{
    if (lot->ranks[rank].waits[0] == '\0')
        return;
    append(lot->ranks[rank].words, sizeof lot->ranks[rank].words, " w%s", lot->ranks[rank].waits);
    lot->ranks[rank].waits[0] = '\0';
}

/* Makes a job without deadlock: all ranks take part in what happens in the same order. */
static void make(struct lot *lot, struct run_case *run, size_t n_ranks)
{
    unsigned n_messages = 0, n_collectives = 0;
    for (int event = 0; event < EVENTS; event++) {
        size_t src = chance_below(&lot->chance, n_ranks), dst = chance_below(&lot->chance, n_ranks);
        if (src == dst) {
            run_collective(run, chance_below(&lot->chance, 2) == 0 ? DEPENDS_ON_ALL : DEPENDS_ON_ROOT, (uint32_t)src,
                           0.25);
            for (size_t rank = 0; rank < n_ranks; rank++)
                add_word(lot, rank, "B", n_collectives);
            n_collectives++;
            continue;
        }
        run_message(run, (uint32_t)src, (uint32_t)dst, chance_below(&lot->chance, 4) * MB, 0);
        bool blocking = chance_below(&lot->chance, 2) == 0;
        add_word(lot, src, blocking ? "S" : "s", n_messages);
        if (!blocking)
            append(lot->ranks[src].waits, sizeof lot->ranks[src].waits, ":s%u", n_messages);
        add_word(lot, dst, "R", n_messages++);
        wait_all(lot, dst);
    }
    for (size_t rank = 0; rank < n_ranks; rank++) {
        wait_all(lot, rank);
        run_rank(run, lot->ranks[rank].words);
    }
}

/* Rank 0 computes for 4 ms and spawns for 3 ms; rank 1 begins in that, at 6 ms, and computes for 5 ms. */
static void spawned(void **state)
{
    (void)state;
    struct blamed b = {0};
    run_ranks(&b.run, 2, NULL);
    run_rank(&b.run, "c4 k1 x3 k2 x1");
    run_rank(&b.run, "c5");
    b.run.program.sites[1].function = "MPI_Comm_spawn";
    b.run.program.strands[1].begin_s = 6e-3;
    b.run.program.ranks[1].parent = 1;
    blame_of(&b);
    assert_critical(&b, 1, 0, 5);
    assert_critical(&b, 0, 1, 4 + 2);
    assert_critical(&b, 0, 2, 0);
    release(&b);
}

/* All that is waited is somebody's fault, and the critical path is as long as the run. */
static void laws(void **state)
{
    (void)state;
    double waited_s = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct blamed b = {0};
        struct lot lot = {.chance = {seed}};
        size_t n_ranks = 2 + seed % (MOST_RANKS - 1);
        run_ranks(&b.run, n_ranks, NULL);
        make(&lot, &b.run, n_ranks);
        blame_of(&b);
        double cost_s = 0, late_s = 0, critical_s = 0;
        for (size_t place = 0; place < b.run.program.n_places; place++) {
            assert_true(b.blame.cost_s[place] >= 0 && b.blame.critical_s[place] >= 0);
            cost_s += b.blame.cost_s[place];
            critical_s += b.blame.critical_s[place];
        }
        for (size_t rank = 0; rank < n_ranks; rank++) {
            const double *part_s = b.run.parts[rank].part_s;
            double parts_s = part_s[RUN_LATE_SENDER] + part_s[RUN_LATE_RECEIVER] + part_s[RUN_COLLECTIVE_WAIT];
            assert_ms("waits", rank, 0, b.blame.late_s[rank], parts_s * 1e3);
            late_s += b.blame.late_s[rank];
        }
        assert_ms("all costs", n_ranks, 0, cost_s, late_s * 1e3);
        assert_ms("whole critical path", n_ranks, 0, critical_s, (b.run.result.end_s - b.run.result.begin_s) * 1e3);
        waited_s += late_s;
        release(&b);
    }
    assert_true(waited_s > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain),
        cmocka_unit_test(handed_on),
        cmocka_unit_test(shared),
        cmocka_unit_test(collective),
        cmocka_unit_test(broadcast),
        cmocka_unit_test(late_receiver),
        cmocka_unit_test(alone),
        cmocka_unit_test(imbalance_by_site),
        cmocka_unit_test(since_the_meeting),
        cmocka_unit_test(before_the_meeting),
        cmocka_unit_test(spawned),
        cmocka_unit_test(laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
