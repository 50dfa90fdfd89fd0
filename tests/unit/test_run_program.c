/* Builds a small program of a run, then breaks it in every way that run_program_check knows. */
#include "predictor/run/run_program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* last: it defines fail as a macro */

static void add_call(struct run_program *p, enum run_step_kind kind, uint32_t object, uint32_t operation)
{
    uint32_t place = p->strands[p->n_strands - 1].rank;
    run_program_wait(p, operation);
    struct run_step post = {
        .compute_s = 1, .object = object, .place = place, .kind = (uint8_t)kind, .flags = STEP_ENTERS};
    struct run_step wait = {
        .object = (uint32_t)p->n_waits - 1, .count = 1, .place = place, .kind = STEP_WAIT, .flags = STEP_LEAVES};
    assert_int_equal(run_program_step(p, &post), 0);
    assert_int_equal(run_program_step(p, &wait), 0);
}

/* Rank 0 sends, rank 1 receives, both meet in a barrier: steps 0 to 3 and 4 to 7. */
static void build(struct run_program *p)
{
    run_program_ranks(p, 2);
    run_program_site(p, "MPI_Send", 7);
    for (uint32_t rank = 0; rank < 2; rank++)
        run_program_place(p, rank, 0);
    assert_int_equal(run_program_message(p, &(struct run_message){.bytes = 8, .src = 0, .dst = 1}), 0);
    run_program_collective(p, &(struct run_collective){.n_members = 2, .root = UINT32_MAX});
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(run_program_member(p, &(struct run_member){.rank = rank}), 0);
        run_program_strand(p, rank, 0.5);
        add_call(p, rank == 0 ? STEP_SEND : STEP_RECEIVE, 0,
                 run_operation(0, rank == 0 ? OPERATION_SEND : OPERATION_RECEIVE));
        add_call(p, STEP_BEGIN, rank, run_operation(rank, OPERATION_MEMBER));
    }
}

static void test_builds(void **state)
{
    (void)state;
    struct run_program p = {0};
    struct error error;
    assert_int_equal(run_program_step(&p, &(struct run_step){0}), -1); /* no strand yet */
    build(&p);
    assert_int_equal(run_program_check(&p, &error), 0);
    assert_true(p.n_steps == 8 && p.n_waits == 4 && p.n_members == 2 && p.n_strands == 2);
    assert_true(p.strands[1].first_step == 4 && p.strands[1].n_steps == 4 && p.strands[1].begin_s == 0.5);
    assert_true(isnan(p.ranks[1].run_s) && isnan(p.measured_run_s) && p.sites[0].callsite == 7);
    uint32_t operation = run_operation(RUN_MAX_OBJECTS - 1, OPERATION_MEMBER);
    assert_true(run_operation_kind(operation) == OPERATION_MEMBER &&
                run_operation_object(operation) == RUN_MAX_OBJECTS - 1);
    for (int part = 0; part < RUN_PART_COUNT; part++)
        assert_non_null(run_part_name[part]);
    run_program_release(&p);
    assert_true(p.n_ranks == 0 && p.steps == NULL);
    run_program_release(&p);
}

static void breaks(struct run_program *p, int way)
{
    struct run_step *steps = p->steps;
    switch (way) {
    case 0:
        steps[0].place = 2;
        return;
    case 1:
        steps[0].place = 1;
        return;
    case 2:
        steps[0].object = 1;
        return;
    case 3:
        steps[0].kind = STEP_RECEIVE;
        return;
    case 4:
        steps[2] = steps[0];
        return;
    case 5:
        steps[1].count = 4;
        return;
    case 6:
        p->waits[0] = run_operation(0, OPERATION_RECEIVE);
        return;
    case 7:
        p->waits[0] = run_operation(1, OPERATION_SEND);
        return;
    case 8:
        p->waits[0] = run_operation(0, OPERATION_SEND) | 3;
        return;
    case 9:
        p->waits[1] = run_operation(1, OPERATION_MEMBER);
        return;
    case 10:
        steps[2].object = 1;
        return;
    case 11:
        steps[0].flags = 0;
        return;
    case 12:
        steps[1].flags = 0;
        return;
    case 13:
        steps[1].flags = STEP_ENTERS | STEP_LEAVES;
        return;
    case 14:
        steps[3].flags = 0;
        return;
    case 15:
        steps[1].compute_s = 1;
        return;
    case 16:
        steps[0].compute_s = NAN;
        return;
    case 17:
        steps[0].kind = 99;
        return;
    case 18:
        steps[0].kind = STEP_PROBE;
        return;
    case 19:
        steps[2].kind = STEP_SPEND, steps[2].spent_s = -1;
        return;
    case 20:
        p->messages[0].dst = 2;
        return;
    case 21:
        p->messages[0].flags = MESSAGE_ONE_SIDED;
        return;
    case 22:
        p->places[1].site = 1;
        return;
    case 23:
        p->strands[0].rank = 1;
        return;
    case 24:
        p->strands[1].rank = 2;
        return;
    case 25:
        p->strands[1].n_steps = 5;
        return;
    case 26:
        p->strands[1].n_steps = 3;
        return;
    case 27:
        p->strands[1].tail_s = 1;
        return; /* its place is rank 0's */
    case 28:
        p->strands[1].begin_s = INFINITY;
        return;
    case 29:
        p->n_ranks = 3;
        return;
    case 30:
        p->collectives[0].n_members = 3;
        return;
    case 31:
        p->collectives[0].n_members = 1;
        return;
    case 32:
        p->collectives[0].root = 2;
        return;
    case 33:
        p->collectives[0].kind = COLLECTIVE_KIND_COUNT;
        return;
    case 34:
        p->members[1].collective = 1;
        return;
    case 35:
        p->members[1].after_s = -1e-9;
        return;
    case 36:
        p->members[1].rank = 0;
        return;
    case 37:
        steps[6].kind = STEP_BEGIN, steps[4] = steps[6];
        return;
    }
}

static void test_refuses(void **state)
{
    (void)state;
    for (int way = 0; way < 38; way++) {
        struct run_program p = {0};
        struct error error = {{0}};
        build(&p);
        breaks(&p, way);
        if (run_program_check(&p, &error) != -1 || error.text[0] == '\0')
            fail_msg("way %d to break a program is not seen", way);
        run_program_release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_builds), cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
