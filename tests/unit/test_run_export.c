/* Writes a made-up run with what traces by lot lack: threads that wait for each other's requests, a one-sided transfer,
 * a buffered send, a collective of recorded length, a nonblocking one, a probe; and a message that nobody receives. */
#include "predictor/run_export/run_export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h> /* last: it defines fail as a macro */

#include "tests/unit/scratch.h"

static void add(struct run_program *p, enum run_step_kind kind, uint32_t object)
{
    struct run_step step = {.compute_s = 1e-6,
                            .object = object,
                            .count = kind == STEP_WAIT,
                            .place = p->strands[p->n_strands - 1].rank,
                            .kind = (uint8_t)kind,
                            .flags = STEP_ENTERS | STEP_LEAVES};
    assert_int_equal(run_program_step(p, &step), 0);
}

static void add_wait(struct run_program *p, uint32_t object, enum run_operation_kind kind)
{
    run_program_wait(p, run_operation(object, kind));
    add(p, STEP_WAIT, (uint32_t)p->n_waits - 1);
}

static void build(struct run_program *p)
{
    run_program_ranks(p, 2);
    run_program_site(p, "MPI_Send", 7);
    for (uint32_t rank = 0; rank < 2; rank++)
        run_program_place(p, rank, 0);
    run_program_message(p, &(struct run_message){.bytes = 10, .dst = 1, .flags = MESSAGE_BUFFERED});
    run_program_message(p, &(struct run_message){.bytes = 20, .dst = 1, .flags = MESSAGE_ONE_SIDED});
    for (uint32_t i = 0; i < 2; i++) {
        const uint8_t kind = i == 0 ? COLLECTIVE_ALLREDUCE : COLLECTIVE_OTHER;
        run_program_collective(
            p, &(struct run_collective){.first_member = 2 * i, .n_members = 2, .root = UINT32_MAX, .kind = kind});
        for (uint32_t rank = 0; rank < 2; rank++)
            run_program_member(p, &(struct run_member){.after_s = 3e-6, .bytes = 8, .rank = rank, .collective = i});
    }
    run_program_strand(p, 0, 0);
    add(p, STEP_SEND, 0);
    add_wait(p, 0, OPERATION_SEND);
    add(p, STEP_SEND, 1);
    add_wait(p, 1, OPERATION_SEND);
    add(p, STEP_BEGIN, 0);
    add_wait(p, 0, OPERATION_MEMBER);
    add(p, STEP_COLLECTIVE, 2);
    run_program_strand(p, 1, 2e-6);
    add(p, STEP_PROBE, 0);
    add_wait(p, 0, OPERATION_RECEIVE); /* which the next thread posts */
    add(p, STEP_BEGIN, 1);
    add_wait(p, 1, OPERATION_MEMBER);
    add(p, STEP_COLLECTIVE, 3);
    run_program_strand(p, 1, 1e-6);
    add(p, STEP_RECEIVE, 0);
}

struct files {
    char goal[64], tit[64];
};

static int write_both(const struct run_program *p, const struct files *files, struct error *error)
{
    return run_export(p, files->goal, files->tit, error);
}

static void assert_file(const char *path, const char *expected)
{
    char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
    unlink(path);
}

static void names(struct files *files)
{
    const char *path = scratch_gone();
    snprintf(files->goal, sizeof files->goal, "%s.goal", path);
    snprintf(files->tit, sizeof files->tit, "%s.tit", path);
}

static const char goal_text[] =
    "num_ranks 2\nrank 0 {\nc0: calc 1000\ns0: send 10b to 1 tag 0\ns0 requires c0\nc1: calc 1000\n"
    "c1 irequires s0\nc2: calc 1000\nc2 requires c1\ns1: send 20b to 1 tag 1\ns1 requires c2\n"
    "c3: calc 1000\nc3 irequires s1\nc4: calc 1000\nc4 requires c3\nc4 requires s1\ni0: calc 0\n"
    "i0 requires c4\ny0_0: recv 8b from 1 tag 2\ny0_0 requires i0\nx0_0: send 8b to 1 tag 2\n"
    "x0_0 requires i0\ne0: calc 0\ne0 requires x0_0\ne0 requires y0_0\nc5: calc 1000\nc5 requires i0\n"
    "c6: calc 1000\nc6 requires c5\nc6 requires e0\ny2_0: recv 1b from 1 tag 3\ny2_0 requires c6\n"
    "x2_0: send 1b to 1 tag 3\nx2_0 requires c6\nw2: calc 3000\nw2 requires x2_0\nw2 requires y2_0\n"
    "t0: calc 0\nt0 requires w2\n}\nrank 1 {\nr1: recv 20b from 0 tag 1\nb1: calc 2000\nc7: calc 1000\n"
    "c8: calc 1000\nc9: calc 1000\ni1: calc 0\ny1_0: recv 8b from 0 tag 2\nx1_0: send 8b to 0 tag 2\n"
    "e1: calc 0\nc10: calc 1000\nc11: calc 1000\ny3_0: recv 1b from 0 tag 3\nx3_0: send 1b to 0 tag 3\n"
    "w3: calc 3000\nt1: calc 0\nb2: calc 1000 cpu 1\nc12: calc 1000 cpu 1\n"
    "r0: recv 10b from 0 tag 0 cpu 1\nt2: calc 0 cpu 1\nc7 requires b1\nc8 requires c7\nc9 requires c8\n"
    "c9 requires r0\ni1 requires c9\ny1_0 requires i1\nx1_0 requires i1\ne1 requires x1_0\n"
    "e1 requires y1_0\nc10 requires i1\nc11 requires c10\nc11 requires e1\ny3_0 requires c11\n"
    "x3_0 requires c11\nw3 requires x3_0\nw3 requires y3_0\nt1 requires w3\nc12 requires b2\n"
    "r0 requires c12\nt2 irequires r0\n}\n";
static const char tit_text[] =
    "0 init\n# a thread of rank 0\n0 compute 1000\n0 isend 2 0 10\n0 compute 1000\n0 compute 1000\n"
    "0 isend 1 1 20\n0 compute 1000\n0 wait 0 1 1\n0 compute 1000\n0 irecv 1 2 8\n0 isend 1 2 8\n"
    "0 compute 1000\n0 wait 1 0 2\n0 wait 0 1 2\n0 compute 1000\n0 irecv 1 3 1\n0 isend 1 3 0\n"
    "0 wait 1 0 3\n0 wait 0 1 3\n0 sleep 0.000003000\n0 finalize\n1 init\n# a thread of rank 1\n"
    "1 irecv 0 1 20\n1 sleep 0.000002000\n1 compute 1000\n1 compute 1000\n1 compute 1000\n1 irecv 0 2 8\n"
    "1 isend 0 2 8\n1 compute 1000\n1 wait 0 1 2\n1 wait 1 0 2\n1 compute 1000\n1 irecv 0 3 1\n"
    "1 isend 0 3 0\n1 wait 0 1 3\n1 wait 1 0 3\n1 sleep 0.000003000\n1 finalize\n2 init\n"
    "# a thread of rank 1\n2 sleep 0.000001000\n2 compute 1000\n2 irecv 0 0 10\n2 finalize\n";

static void test_writes(void **state)
{
    (void)state;
    struct run_program p = {0};
    struct files files;
    struct error error = {0};
    build(&p);
    assert_int_equal(run_program_check(&p, &error), 0);
    names(&files);
    assert_int_equal(write_both(&p, &files, &error), 0);
    assert_file(files.goal, goal_text);
    assert_file(files.tit, tit_text);
    assert_int_equal(run_export(&p, NULL, NULL, &error), 0);
    run_program_release(&p);
}

static void test_refuses(void **state)
{
    (void)state;
    struct run_program p = {0};
    struct files files;
    struct error error = {0};
    build(&p);
    names(&files);
    p.strands[2].n_steps = 0;
    p.n_steps--;
    assert_int_equal(write_both(&p, &files, &error), -1);
    assert_string_equal(error.text, "message 0 from rank 0 to rank 1 is posted at one end only");
    p.steps[p.n_steps - 1].kind = STEP_SPEND;
    p.strands[2].n_steps = 1;
    p.n_steps++;
    assert_int_equal(write_both(&p, &files, &error), -1);
    assert_string_equal(error.text, "rank 1 does not come to a collective that it is a member of");
    assert_true(access(files.goal, F_OK) != 0 && access(files.tit, F_OK) != 0);
    run_program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_writes, scratch_remove),
        cmocka_unit_test_teardown(test_refuses, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
