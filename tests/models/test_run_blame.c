/* Tests who is to blame for waiting and the critical path by small cases that are worked by hand, and by laws on jobs
 * made by chance. Times are ms; 1 MB takes 1 ms. share/doc/MODELS.md, Whole run, has the rules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run/engine/run_blame.h"
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
    run_blame(&blamed->run.program, &blamed->run.options, &blamed->run.result, &blamed->blame);
}

static void release(struct blamed *blamed)
{
    run_blame_release(&blamed->blame);
    run_release(&blamed->run);
}

static const char *job = ""; /* what is under test */

static void assert_ms(const char *what, size_t rank, uint32_t site, double found_s, double ms)
{
    if (!(fabs(found_s * 1e3 - ms) <= 1e-9 * fmax(fabs(ms), 1)))
        fail_msg("%s: %s of rank %zu, site %u: %.12g ms, expected %.12g", job, what, rank, site, found_s * 1e3, ms);
}

/* What is expected of a rank at a site. */
struct expected {
    enum { END, COST, CRITICAL, WAITS } what;
    uint32_t rank, site; /* WAITS: of all sites */
    double ms;
};

static void assert_expected(struct blamed *blamed, const struct expected *expected)
{
    for (; expected->what != END; expected++) {
        uint32_t rank = expected->rank, site = expected->site;
        if (expected->what == WAITS)
            assert_ms("waits", rank, 0, blamed->blame.late_s[rank], expected->ms);
        else if (expected->what == COST)
            assert_ms("cost", rank, site, blamed->blame.cost_s[run_place_of(&blamed->run, rank, site)], expected->ms);
        else
            assert_ms("critical path", rank, site, blamed->blame.critical_s[run_place_of(&blamed->run, rank, site)],
                      expected->ms);
    }
}

/* Jobs worked by hand: what happens, its messages and collectives in order, the ranks' programs (run_rank). */
static const struct {
    const char *name;
    struct {
        uint32_t src, dst;
        uint64_t bytes;
    } messages[3];
    struct {
        enum run_dependence dependence;
        uint32_t root;
        double after_ms;
    } collectives[2];
    size_t n_messages, n_collectives;
    const char *ranks[4];
    struct expected expected[8];
} worked[] = {
    {"0 to 1 to 2: rank 0 computes 3 ms longer, and both others wait for that", .messages = {{0, 1, MB}, {1, 2, MB}},
     .n_messages = 2, .ranks = {"c5 S0", "c2 R0 S1", "c3 R1 c1"},
     .expected = {{COST, 0, 0, 6},
                  {COST, 1, 0, 0},
                  {COST, 2, 0, 0},
                  {CRITICAL, 0, 0, 5},
                  {CRITICAL, 1, 0, 1}, /* the transfer to it */
                  {CRITICAL, 2, 0, 1 + 1}}},
    {"three waits in a row, the first for rank 0, whose computation is handed on through two ranks",
     .messages = {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}}, .n_messages = 3,
     .ranks = {"c5 S0", "c1 R0 S1", "c1 R1 S2", "c1 R2"}, .expected = {{COST, 0, 0, 12}, {CRITICAL, 0, 0, 5}}},
    {"rank 2 waits 5 ms for rank 1, which computed 1 ms more than it and waited 3 ms for rank 0: 5/4 and 15/4",
     .messages = {{0, 1, MB}, {1, 2, MB}}, .n_messages = 2, .ranks = {"c5 S0", "c2 R0 c2 S1", "c3 R1 c1"},
     .expected =
         {{COST, 1, 0, 1.25}, {COST, 0, 0, 3.75 + 3}, {WAITS, 2, 0, 5}, {CRITICAL, 0, 0, 5}, {CRITICAL, 1, 0, 1 + 2}}},
    {"a receiver is late", .messages = {{0, 1, MB}}, .n_messages = 1, .ranks = {"c1 S0", "c5 R0"},
     .expected = {{COST, 1, 0, 4}, {COST, 0, 0, 0}, {CRITICAL, 1, 0, 5}, {CRITICAL, 0, 0, 1}}},
    {"the last of a barrier costs all others what they wait; ranks that come between cost nobody anything",
     .collectives = {{DEPENDS_ON_ALL, 0, 0.5}}, .n_collectives = 1, .ranks = {"c1 B0", "c2 B0", "c5 B0 c1"},
     .expected = {{COST, 2, 0, 4 + 3}, {COST, 1, 0, 0}, {CRITICAL, 2, 0, 6.5}}},
    {"a rank that waits for the root of a broadcast blames the root, whoever comes last",
     .collectives = {{DEPENDS_ON_ROOT, 1, 0}}, .n_collectives = 1, .ranks = {"c1 B0", "c4 B0", "c6 B0"},
     .expected = {{COST, 1, 0, 3}, {COST, 2, 0, 0}}},
    {"one rank alone", .ranks = {"c2"}, .expected = {{COST, 0, 0, 0}, {CRITICAL, 0, 0, 2}}},
    {"both compute 2 ms before site 1; before site 2 rank 0 computes 4 ms more",
     .collectives = {{DEPENDS_ON_NOBODY, 0, 0}, {DEPENDS_ON_ALL, 0, 0}}, .n_collectives = 2,
     .ranks = {"k1 c2 B0 k2 c5 B1", "k1 c2 B0 k2 c1 B1"},
     .expected = {{COST, 0, 2, 4}, {COST, 0, 1, 0}, {CRITICAL, 0, 1, 2}, {CRITICAL, 0, 2, 5}}},
    {"computation before the last meeting of both is not charged",
     .collectives = {{DEPENDS_ON_ALL, 0, 0}, {DEPENDS_ON_ALL, 0, 0}}, .n_collectives = 2,
     .ranks = {"k1 c9 B0 k2 c1 B1", "k1 c2 B0 k2 c4 B1"},
     .expected = {{COST, 0, 1, 7}, {COST, 1, 2, 3}, {COST, 0, 2, 0}, {CRITICAL, 0, 1, 9}, {CRITICAL, 1, 2, 4}}},
    /* It computed before it looked at the first message, which had come long before: the computation behind that is
     * next to nothing. */
    {"rank 1 is 4 ms late for its second receive", .messages = {{0, 1, 0}, {0, 1, 0}}, .n_messages = 2,
     .ranks = {"k1 S0 k2 c1 S1", "k1 r0 k3 c5 w:r0 k4 c0.01 R1"},
     .expected = {{COST, 1, 3, 4.01 * 5 / 5.01}, {COST, 1, 4, 4.01 * 0.01 / 5.01}}},
};

static void by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        struct blamed b = {0};
        size_t n_ranks = 0;
        job = worked[i].name;
        while (n_ranks < 4 && worked[i].ranks[n_ranks] != NULL)
            n_ranks++;
        run_ranks(&b.run, n_ranks, NULL);
        for (size_t k = 0; k < worked[i].n_messages; k++)
            run_message(&b.run, worked[i].messages[k].src, worked[i].messages[k].dst, worked[i].messages[k].bytes, 0);
        for (size_t k = 0; k < worked[i].n_collectives; k++)
            run_collective(&b.run, worked[i].collectives[k].dependence, worked[i].collectives[k].root,
                           worked[i].collectives[k].after_ms);
        for (size_t rank = 0; rank < n_ranks; rank++)
            run_rank(&b.run, worked[i].ranks[rank]);
        blame_of(&b);
        assert_expected(&b, worked[i].expected);
        release(&b);
    }
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
    job = "a process is spawned";
    assert_expected(&b, (const struct expected[]){
                            {CRITICAL, 1, 0, 5}, {CRITICAL, 0, 1, 4 + 2}, {CRITICAL, 0, 2, 0}, {.what = END}});
    release(&b);
}

/* All that is waited is somebody's fault, and the critical path is as long as the run. */
static void laws(void **state)
{
    (void)state;
    double waited_s = 0;
    job = "a job made by chance";
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
        cmocka_unit_test(by_hand),
        cmocka_unit_test(spawned),
        cmocka_unit_test(laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
