/* Tests the algorithms of collectives by what they deliver: every member's contributions are followed through the
 * messages of the script, for both MPIs, all kinds, sizes, roots and nodes. A message takes what its sender has when it
 * is posted; combining must not count anything twice, taking must not lose anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run/collectives/run_script.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MOST_MEMBERS = 33, MOST_UNITS = 4200, MOST_FLYING = 4096 };

struct flying {
    uint32_t from, to;
    uint64_t bytes;
    uint64_t *data; /* [n_units]; alltoall: [n] sets of destinations by source */
};

/* Holds a collective under way. The vector is so many units that each phase's blocks are whole ones. */
struct play {
    struct script_choice choice;
    struct run_script script;
    uint32_t n, n_units;
    uint64_t *has; /* [n][n_units] set of members that contributed; alltoall: [n][n] destinations by source */
    struct script_cursor cursor[MOST_MEMBERS];
    struct script_action awaited[MOST_MEMBERS][MOST_MEMBERS];
    uint32_t phase_awaited[MOST_MEMBERS];
    uint32_t n_awaited[MOST_MEMBERS];
    bool ended[MOST_MEMBERS];
    struct flying flying[MOST_FLYING];
    uint32_t n_flying;
    uint32_t n_messages;
};

static void assert_play(const struct play *play, bool holds, const char *what)
{
    if (!holds)
        fail_msg("%s: family %d, kind %d%s, %u members, root %u, %g bytes, %u nodes", what, (int)play->choice.family,
                 (int)play->choice.kind, play->choice.varies ? " (v)" : "", play->n, play->choice.root,
                 play->choice.bytes, play->choice.nodes != NULL ? play->choice.nodes->n_nodes : 0);
}

static uint32_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a, y = b;
    while (y != 0) {
        uint32_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

static uint64_t *has(const struct play *play, uint32_t member)
{
    return play->has + (size_t)member * play->n_units;
}

static bool is_alltoall(const struct play *play)
{
    return play->choice.kind == COLLECTIVE_ALLTOALL;
}

static bool is_of_blocks(const struct play *play)
{
    return play->choice.kind == COLLECTIVE_GATHER || play->choice.kind == COLLECTIVE_SCATTER ||
           play->choice.kind == COLLECTIVE_ALLGATHER;
}

/* Says whether a phase moves everything in each message. */
static bool is_whole(const struct script_phase *phase)
{
    static const uint8_t whole[] = {SCRIPT_DOWN, SCRIPT_UP,          SCRIPT_FOLD, SCRIPT_UNFOLD,    SCRIPT_EXCHANGE,
                                    SCRIPT_SCAN, SCRIPT_DISSEMINATE, SCRIPT_SEND, SCRIPT_SCAN_CHAIN};
    return memchr(whole, phase->algorithm, sizeof whole) != NULL;
}

/* Sets what each has before. */
static void begin(struct play *play)
{
    uint32_t n = play->n, root = play->choice.root;
    play->n_units = n;
    for (uint32_t i = 0; !is_alltoall(play) && i < play->script.n_phases; i++)
        for (uint32_t m = 0; m < n; m++) {
            uint32_t blocks = script_blocks(&play->script, &play->script.phases[i], m);
            if (blocks > 0 && !is_whole(&play->script.phases[i]))
                play->n_units = common_multiple(play->n_units, blocks);
        }
    assert_play(play, play->n_units <= MOST_UNITS, "too many units");
    play->has = calloc((size_t)n * play->n_units, sizeof *play->has);
    assert_non_null(play->has);
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t u = 0; u < play->n_units; u++) {
            uint32_t block = u / (play->n_units / n);
            uint64_t *set = &has(play, m)[u];
            if (is_alltoall(play))
                *set = u == m ? (UINT64_C(1) << n) - 1 : 0;
            else if (play->choice.kind == COLLECTIVE_BCAST)
                *set = m == root ? UINT64_C(1) << m : 0;
            else if (play->choice.kind == COLLECTIVE_SCATTER)
                *set = m == root ? UINT64_C(1) << block : 0;
            else if (is_of_blocks(play))
                *set = m == block ? UINT64_C(1) << m : 0;
            else
                *set = UINT64_C(1) << m;
        }
}

/* Says whether a unit is in the blocks of the action. */
static bool is_moved(const struct play *play, const struct script_phase *phase, uint32_t member,
                     const struct script_action *action, uint32_t unit)
{
    uint32_t blocks = script_blocks(&play->script, phase, member);
    if (action->n == blocks)
        return true;
    uint32_t block = unit / (play->n_units / blocks);
    return (block + 2 * blocks - phase->root % blocks - action->first) % blocks < action->n;
}

/* Takes out of what the sender has the blocks of an alltoall that go to a member. */
static void load_alltoall(struct play *play, const struct script_phase *phase, uint32_t member,
                          const struct script_action *action, uint64_t *data)
{
    uint32_t n = play->n, count = 0;
    for (uint32_t src = 0; src < n; src++)
        for (uint32_t dst = 0; dst < n; dst++) {
            bool goes = phase->algorithm == SCRIPT_BRUCK_ALLTOALL ? ((dst + n - src) % n & action->first) != 0
                                                                  : src == member && dst == action->peer;
            if (!goes || (has(play, member)[src] >> dst & 1) == 0)
                continue;
            data[src] |= UINT64_C(1) << dst;
            has(play, member)[src] &= ~(UINT64_C(1) << dst);
            count++;
        }
    assert_play(play, count == action->n, "number of blocks of an alltoall");
}

static void fly(struct play *play, uint32_t phase_number, uint32_t member, const struct script_action *action)
{
    const struct script_phase *phase = &play->script.phases[phase_number];
    struct flying *flying = &play->flying[play->n_flying++];
    assert_play(play, play->n_flying < MOST_FLYING && action->peer < play->n && action->peer != member, "peer");
    *flying = (struct flying){member, action->peer, action->bytes, calloc(play->n_units, sizeof *flying->data)};
    play->n_messages++;
    assert_non_null(flying->data);
    if (is_alltoall(play))
        load_alltoall(play, phase, member, action, flying->data);
    for (uint32_t u = 0; !is_alltoall(play) && u < play->n_units; u++)
        if (is_moved(play, phase, member, action, u))
            flying->data[u] = has(play, member)[u];
}

static void land(struct play *play, uint32_t phase_number, uint32_t member, const struct script_action *action,
                 const struct flying *flying)
{
    const struct script_phase *phase = &play->script.phases[phase_number];
    bool joins = is_alltoall(play) || play->choice.kind == COLLECTIVE_BARRIER;
    assert_play(play, flying->bytes == action->bytes, "bytes of both ends");
    for (uint32_t u = 0; u < play->n_units; u++) {
        uint64_t *set = &has(play, member)[u];
        if (!joins && !is_moved(play, phase, member, action, u)) {
            assert_play(play, flying->data[u] == 0 || is_alltoall(play), "blocks of both ends");
        } else if (joins || action->combines) {
            assert_play(play, (*set & flying->data[u]) == 0 || play->choice.kind == COLLECTIVE_BARRIER,
                        "counted twice");
            *set |= flying->data[u];
        } else {
            assert_play(play, (*set & ~flying->data[u]) == 0, "lost");
            *set = flying->data[u];
        }
    }
}

/* Begins rounds of a member until it must wait for something. Returns true if it did anything. */
static bool advance(struct play *play, uint32_t member)
{
    bool moved = false;
    while (!play->ended[member] && play->n_awaited[member] == 0) {
        struct script_action action;
        enum script_next next;
        uint32_t phase = 0;
        while ((next = script_next(&play->script, member, &play->cursor[member], &action)) == NEXT_ACTION) {
            phase = play->cursor[member].phase;
            if (action.sends)
                fly(play, phase, member, &action);
            else
                play->awaited[member][play->n_awaited[member]++] = action;
        }
        play->phase_awaited[member] = phase;
        play->ended[member] = next == NEXT_END;
        moved = true;
    }
    return moved;
}

/* Delivers what a member waits for, the oldest of each pair first. */
static bool receive(struct play *play, uint32_t member)
{
    bool moved = false;
    for (uint32_t i = 0; i < play->n_awaited[member];) {
        uint32_t k = 0;
        while (k < play->n_flying &&
               (play->flying[k].to != member || play->flying[k].from != play->awaited[member][i].peer))
            k++;
        if (k == play->n_flying) {
            i++;
            continue;
        }
        land(play, play->phase_awaited[member], member, &play->awaited[member][i], &play->flying[k]);
        free(play->flying[k].data);
        memmove(&play->flying[k], &play->flying[k + 1], (--play->n_flying - k) * sizeof *play->flying);
        play->n_awaited[member]--;
        memmove(&play->awaited[member][i], &play->awaited[member][i + 1],
                (play->n_awaited[member] - i) * sizeof play->awaited[member][i]);
        moved = true;
    }
    return moved;
}

/* Expects that each has what the collective gives. */
static void check(const struct play *play)
{
    uint32_t n = play->n, root = play->choice.root;
    uint64_t all = (UINT64_C(1) << n) - 1;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t u = 0; u < play->n_units; u++) {
            uint32_t block = u / (play->n_units / n);
            uint64_t set = has(play, m)[u];
            switch (play->choice.kind) {
            case COLLECTIVE_ALLTOALL:
                assert_play(play, set == UINT64_C(1) << m, "alltoall");
                break;
            case COLLECTIVE_BCAST:
                assert_play(play, set == UINT64_C(1) << root, "bcast");
                break;
            case COLLECTIVE_SCATTER:
            case COLLECTIVE_GATHER:
                if (play->choice.kind == COLLECTIVE_GATHER ? m == root : m == block)
                    assert_play(play, set == UINT64_C(1) << block, "gather, scatter");
                break;
            case COLLECTIVE_ALLGATHER:
                assert_play(play, set == UINT64_C(1) << block, "allgather");
                break;
            case COLLECTIVE_REDUCE:
                assert_play(play, m != root || set == all, "reduce");
                break;
            case COLLECTIVE_REDUCE_SCATTER:
                assert_play(play, m != block || set == all, "reduce_scatter");
                break;
            case COLLECTIVE_SCAN:
                assert_play(play, (~set & ((UINT64_C(1) << m << 1) - 1)) == 0, "scan");
                break;
            default:
                assert_play(play, set == all, "allreduce, barrier");
            }
        }
}

static void perform(const struct script_choice *choice)
{
    static struct play play;
    memset(&play, 0, offsetof(struct play, flying));
    play.n_flying = play.n_messages = 0;
    play.choice = *choice;
    play.n = choice->n;
    assert_play(&play, script_exists(choice->kind, choice->root, choice->n), "chosen");
    script_choose(choice, &play.script);
    assert_play(&play, play.script.n_phases <= SCRIPT_MOST_PHASES, "phases");
    begin(&play);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t m = 0; m < play.n; m++)
            moved = advance(&play, m) || receive(&play, m) || moved;
    }
    for (uint32_t m = 0; m < play.n; m++)
        assert_play(&play, play.ended[m] && play.n_awaited[m] == 0, "deadlock");
    assert_play(&play, play.n_flying == 0, "a message that nobody receives");
    check(&play);
    free(play.has);
}

/* Takes several roots and, of MPICH, several divisions of the members by nodes. */
static void perform_all(struct script_choice choice)
{
    static struct run_member members[MOST_MEMBERS];
    uint32_t n = choice.n;
    for (uint32_t m = 0; m < n; m++)
        members[m] = (struct run_member){.rank = m, .bytes = choice.varies ? 100.0 * (m % 5) : choice.bytes / n};
    bool sizes = choice.kind == COLLECTIVE_GATHER || choice.kind == COLLECTIVE_SCATTER ||
                 choice.kind == COLLECTIVE_ALLGATHER || choice.kind == COLLECTIVE_ALLTOALL;
    choice.sizes = choice.varies && sizes ? members : NULL;
    for (uint32_t division = 0; division < (choice.family == MPI_FAMILY_MPICH ? 4 : 1); division++) {
        uint32_t node_of[MOST_MEMBERS];
        for (uint32_t m = 0; m < n; m++)
            node_of[m] = division == 1 ? m / 4 : division == 2 ? m % 3 : 0;
        struct script_nodes *nodes = script_nodes_new(members, n, node_of, MOST_MEMBERS);
        assert_non_null(nodes);
        choice.nodes = division > 0 && nodes->n_nodes < n ? nodes : NULL;
        for (uint32_t root = 0; root < n; root += n / 2 + 1) {
            choice.root = root;
            perform(&choice);
        }
        free(nodes);
    }
}

static void everything_arrives(void **state)
{
    const enum run_mpi_family family = *(const enum run_mpi_family *)*state;
    static const double sizes[] = {4, 40, 700, 3000, 10000, 40000, 200000, 2e6};
    for (uint32_t n = 1; n <= MOST_MEMBERS; n += n == 17 ? 15 : 1)
        for (int kind = COLLECTIVE_BARRIER; kind < COLLECTIVE_KIND_COUNT; kind++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct script_choice choice = {
                    .family = family, .kind = (enum run_collective_kind)kind, .n = n, .bytes = sizes[i]};
                perform_all(choice);
                if (kind != COLLECTIVE_GATHER && kind != COLLECTIVE_SCATTER && kind != COLLECTIVE_ALLGATHER &&
                    kind != COLLECTIVE_ALLTOALL && kind != COLLECTIVE_REDUCE_SCATTER)
                    continue;
                choice.varies = true;
                choice.bytes *= n;
                perform_all(choice);
            }
}

/* Every size class of a rule ends, and names an algorithm that there is. */
static void rules_end(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {2, 3, 5, 12, 24, 48, 100, 200, 300, 700, 1500, 3000, 70000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int kind = COLLECTIVE_BARRIER; kind < COLLECTIVE_KIND_COUNT; kind++)
            for (double bytes = 1; bytes < 1e12; bytes *= 1.9)
                for (int varies = 0; varies < 2; varies++) {
                    struct script_choice choice = {.family = MPI_FAMILY_OPEN_MPI,
                                                   .kind = (enum run_collective_kind)kind,
                                                   .n = numbers[i],
                                                   .varies = varies,
                                                   .bytes = bytes};
                    struct run_script script;
                    script_choose(&choice, &script);
                    assert_in_range(script.n_phases, 1, SCRIPT_MOST_PHASES);
                }
}

/* Returns the algorithm of the first phase. */
static int first_of(enum run_mpi_family family, enum run_collective_kind kind, uint32_t n, double bytes)
{
    const struct script_choice choice = {.family = family, .kind = kind, .n = n, .bytes = bytes};
    struct run_script script;
    script_choose(&choice, &script);
    return script.phases[0].algorithm;
}

/* The switch points that the two MPIs document. */
static void switches(void **state)
{
    (void)state;
    const enum run_mpi_family mpich = MPI_FAMILY_MPICH, open_mpi = MPI_FAMILY_OPEN_MPI;
    assert_int_equal(first_of(mpich, COLLECTIVE_BCAST, 7, 1e6), SCRIPT_DOWN);
    assert_int_equal(first_of(mpich, COLLECTIVE_BCAST, 8, 12288), SCRIPT_DOWN);
    assert_int_equal(first_of(mpich, COLLECTIVE_BCAST, 8, 12289), SCRIPT_BLOCKS_DOWN);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLGATHER, 8, 524287), SCRIPT_DOUBLE);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLGATHER, 8, 524288), SCRIPT_RING);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLGATHER, 9, 81919), SCRIPT_BRUCK);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLGATHER, 9, 81920), SCRIPT_RING);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLTOALL, 8, 8 * 256), SCRIPT_BRUCK_ALLTOALL);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLTOALL, 7, 7 * 256), SCRIPT_AT_ONCE);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLTOALL, 8, 8 * 257), SCRIPT_AT_ONCE);
    assert_int_equal(first_of(mpich, COLLECTIVE_ALLTOALL, 8, 8 * 32769), SCRIPT_PAIRWISE);
    assert_int_equal(first_of(mpich, COLLECTIVE_REDUCE, 4, 2048), SCRIPT_UP);
    assert_int_equal(first_of(mpich, COLLECTIVE_REDUCE, 4, 2049), SCRIPT_FOLD);
    assert_int_equal(first_of(mpich, COLLECTIVE_REDUCE_SCATTER, 4, 524287), SCRIPT_FOLD);
    assert_int_equal(first_of(mpich, COLLECTIVE_REDUCE_SCATTER, 4, 524288), SCRIPT_PAIRWISE_COMBINE);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_ALLREDUCE, 3, 4095), SCRIPT_FOLD);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_ALLREDUCE, 3, 4096), SCRIPT_RING_COMBINE);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_ALLREDUCE, 128, 131071), SCRIPT_UP);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_ALLREDUCE, 128, 131072), SCRIPT_FOLD);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_BARRIER, 5, 0), SCRIPT_UP);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_BARRIER, 100, 0), SCRIPT_DISSEMINATE);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_BCAST, 16, 1048575), SCRIPT_DOWN);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_BCAST, 16, 1048576), SCRIPT_BLOCKS_DOWN);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_ALLTOALL, 20, 20 * 511), SCRIPT_BRUCK_ALLTOALL);
    assert_int_equal(first_of(open_mpi, COLLECTIVE_ALLTOALL, 20, 20 * 512), SCRIPT_AT_ONCE);
}

int main(void)
{
    static enum run_mpi_family mpich = MPI_FAMILY_MPICH, open_mpi = MPI_FAMILY_OPEN_MPI;
    static void *states[] = {&mpich, &open_mpi};
    const struct CMUnitTest tests[] = {
        {"everything arrives, MPICH", everything_arrives, NULL, NULL, states[0]},
        {"everything arrives, Open MPI", everything_arrives, NULL, NULL, states[1]},
        cmocka_unit_test(rules_end),
        cmocka_unit_test(switches),
    };
    return cmocka_run_group_tests_name("run_script", tests, NULL, NULL);
}
