/* Tests the replay of whole runs by small cases that are worked by hand. Times are ms; 1 MB takes 1 ms unless a case
 * says otherwise. share/doc/MODELS.md, Whole run, has the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

static void late_sender(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "c5 S0");
    run_rank(&run, "c1 R0");
    run_replay(&run);
    assert_end(&run, 0, 6);
    assert_part(&run, 0, RUN_BANDWIDTH, 1);
    assert_part(&run, 0, RUN_COMPUTATION, 5);
    assert_end(&run, 1, 6);
    assert_part(&run, 1, RUN_LATE_SENDER, 4);
    assert_part(&run, 1, RUN_BANDWIDTH, 1);
    run_release(&run);
}

static void late_receiver(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "c1 S0");
    run_rank(&run, "c5 R0");
    run_replay(&run);
    assert_end(&run, 0, 6);
    assert_part(&run, 0, RUN_LATE_RECEIVER, 4);
    assert_part(&run, 0, RUN_BANDWIDTH, 1);
    assert_part(&run, 1, RUN_LATE_SENDER, 0);
    assert_end(&run, 1, 6);
    run_release(&run);
}

/* An eager send is over at its post; its message arrives at 1 + 1 + 0.1, before the receive is posted. A
 * synchronous one of the same size waits for the receive. */
static void eager_and_synchronous(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, MB, MESSAGE_SYNCHRONOUS);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "c1 S0 c3 S1 S2");
    run_rank(&run, "c5 R0 R1 R2");
    run_replay(&run);
    assert_end(&run, 0, 4 + 1 + 0.1 + 1); /* the second from 5 on, and the third at once */
    assert_part(&run, 0, RUN_LATE_RECEIVER, 1);
    assert_part(&run, 0, RUN_LATENCY, 0.1);
    assert_part(&run, 0, RUN_BANDWIDTH, 1);
    assert_end(&run, 1, 6.1 + 1 + 0.1);
    assert_part(&run, 1, RUN_LATENCY, 0.2);
    assert_part(&run, 1, RUN_BANDWIDTH, 2);
    run_release(&run);
}

/* The receiver waits for the rest of an eager message that is partly through; an eager one that comes late is late. */
static void eager_late(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "S0 c4 S1");
    run_rank(&run, "c0.75 R0 c0.9 R1");
    run_replay(&run);
    assert_part(&run, 0, RUN_BANDWIDTH, 0);
    assert_part(&run, 1, RUN_BANDWIDTH, 0.25 + 1);
    assert_part(&run, 1, RUN_LATENCY, 0.2);
    assert_part(&run, 1, RUN_LATE_SENDER, 2); /* from 2 to 4 */
    assert_end(&run, 1, 5.1);
    run_release(&run);
}

/* Blocking, 0 to 1 to 2: rank 0 computes 3 ms longer. */
static void chain(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 3, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 1, 2, MB, 0);
    run_rank(&run, "c5 S0");
    run_rank(&run, "c2 R0 S1");
    run_rank(&run, "c3 R1");
    run_replay(&run);
    assert_part(&run, 1, RUN_LATE_SENDER, 3);
    assert_part(&run, 2, RUN_LATE_SENDER, 3);
    assert_end(&run, 1, 7);
    assert_end(&run, 2, 7);
    run_release(&run);
}

/* Both post at 0; the sender computes 0.5, the receiver 2 ms before its wait. */
static void progress(void **state)
{
    (void)state;
    static const struct {
        double rule, sender_end, receiver_end, sender_stands, receiver_stands;
    } cases[] = {
        {0, 1, 2, 0, 0},
        {1, 1.5, 2, 0, 0},
        {2, 3, 3, 1.5, 0},
        {3, 3, 3, 1.5, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_case run = RUN_CASE;
        case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
        case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
        case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "progress", 0, cases[i].rule, "1");
        run_ranks(&run, 2, NULL);
        run_message(&run, 0, 1, MB, 0);
        run_rank(&run, "s0 c0.5 w:s0");
        run_rank(&run, "r0 c2 w:r0");
        run_replay(&run);
        assert_end(&run, 0, cases[i].sender_end);
        assert_end(&run, 1, cases[i].receiver_end);
        assert_part(&run, 0, RUN_PROGRESS, cases[i].sender_stands);
        assert_part(&run, 1, RUN_PROGRESS, cases[i].receiver_stands);
        assert_part(&run, 1, RUN_BANDWIDTH, cases[i].rule >= 2 ? 1 : 0);
        run_release(&run);
    }
}

static void barrier(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 3, NULL);
    run_collective(&run, DEPENDS_ON_ALL, UINT32_MAX, 0.1);
    run_rank(&run, "c1 B0");
    run_rank(&run, "c2 B0");
    run_rank(&run, "c5 B0");
    run_replay(&run);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_end(&run, rank, 5.1);
        assert_part(&run, rank, RUN_COLLECTIVE_WAIT, rank == 0 ? 4 : rank == 1 ? 3 : 0);
        assert_part(&run, rank, RUN_COLLECTIVE_TRANSFER, 0.1);
    }
    run_release(&run);
}

/* Rank 1 is the root of a Bcast, of a Reduce, then a Scan follows. */
static void rooted(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 3, NULL);
    run_collective(&run, DEPENDS_ON_ROOT, 1, 0.5);
    run_rank(&run, "c1 B0");
    run_rank(&run, "c2 B0");
    run_rank(&run, "c5 B0");
    run_replay(&run);
    assert_end(&run, 0, 2.5);
    assert_part(&run, 0, RUN_COLLECTIVE_WAIT, 1);
    assert_end(&run, 1, 2.5);
    assert_end(&run, 2, 5.5);
    assert_part(&run, 2, RUN_COLLECTIVE_WAIT, 0);
    run_release(&run);
    run = (struct run_case)RUN_CASE;
    run_ranks(&run, 3, NULL);
    run_collective(&run, DEPENDS_OF_ROOT, 1, 0.5);
    run_collective(&run, DEPENDS_ON_LOWER, UINT32_MAX, 0.25);
    run_rank(&run, "c1 B0 B1");
    run_rank(&run, "c2 B0 B1");
    run_rank(&run, "c5 B0 B1");
    run_replay(&run);
    assert_end(&run, 0, 1.75);
    assert_end(&run, 1, 5.75); /* root at 2, last at 5, leaves at 5.5 */
    assert_part(&run, 1, RUN_COLLECTIVE_WAIT, 3);
    assert_end(&run, 2, 5.75);
    run_release(&run);
}

/* A nonblocking barrier is over 0.1 after the last arrival, computation hides it. */
static void nonblocking_collective(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 2, NULL);
    run_collective(&run, DEPENDS_ON_ALL, UINT32_MAX, 0.1);
    run_rank(&run, "c1 b0 c1 w:b0");
    run_rank(&run, "c3 b0 c1 w:b0");
    run_replay(&run);
    assert_end(&run, 0, 3.1);
    assert_part(&run, 0, RUN_COLLECTIVE_WAIT, 1);
    assert_part(&run, 0, RUN_COLLECTIVE_TRANSFER, 0.1);
    assert_end(&run, 1, 4);
    run_release(&run);
}

/* MPI_Waitany returned the second receive; the first is waited for later. */
static void waitany(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 3, NULL);
    run_message(&run, 0, 2, MB, 0);
    run_message(&run, 1, 2, MB, 0);
    run_rank(&run, "c6 S0");
    run_rank(&run, "c2 S1");
    run_rank(&run, "r0 r1 w:r1 c1 w:r0");
    run_replay(&run);
    assert_end(&run, 2, 7);
    assert_part(&run, 2, RUN_LATE_SENDER, 2 + 2);
    assert_part(&run, 2, RUN_BANDWIDTH, 2);
    run_release(&run);
}

/* Each post costs its caller; the message begins with the post. */
static void overhead(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "overhead_send", 0, 2e-4, "s");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "overhead_receive", 0, 1e-4, "s");
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, MB, 0);
    run_rank(&run, "s0 s1 w:s0:s1");
    run_rank(&run, "r0 r1 w:r0:r1");
    run_replay(&run);
    assert_part(&run, 0, RUN_OTHER, 0.4);
    assert_part(&run, 1, RUN_OTHER, 0.2);
    assert_end(&run, 0, 2); /* 0.2 alone, then both at half the rate until the first is through, and no pause */
    assert_end(&run, 1, 2);
    run_release(&run);
}

/* A probe sees a message one tau after the post of its send. */
static void probe(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, 3 * MB, 0);
    run_rank(&run, "c2 S0 S1");
    run_rank(&run, "p0 R0 p1 R1");
    run_replay(&run);
    assert_part(&run, 1, RUN_LATE_SENDER, 2);
    /* seen at 2.1, there at 3.1; the second was posted at 2 and is received from 3.1 on: 3.2 to 6.2 */
    assert_part(&run, 1, RUN_LATENCY, 0.1 + 0.1 + 0.1);
    assert_end(&run, 1, 6.2);
    assert_end(&run, 0, 6.2);
    assert_part(&run, 0, RUN_LATE_RECEIVER, 1.1);
    run_release(&run);
}

/* Self messages, empty ones, and time that calls spend. */
static void nothing_moves(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 0, MB, 0);
    run_message(&run, 0, 1, 0, 0);
    run_rank(&run, "r0 c1 s0 w:r0:s0 x2 S1");
    run_rank(&run, "R1");
    run_replay(&run);
    assert_end(&run, 0, 3);
    assert_part(&run, 0, RUN_OTHER, 2);
    assert_end(&run, 1, 3.1);
    run_release(&run);
}

/* A put begins with its call; the fence waits for its delivery. */
static void one_sided(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_eager_machine(&run);
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, MESSAGE_ONE_SIDED);
    run_collective(&run, DEPENDS_ON_ALL, UINT32_MAX, 0);
    run_rank(&run, "s0 c0.5 w:s0 B0");
    run_rank(&run, "B0");
    run_replay(&run);
    assert_end(&run, 0, 1.1);
    assert_part(&run, 0, RUN_BANDWIDTH, 0.5);
    assert_part(&run, 0, RUN_LATENCY, 0.1);
    assert_end(&run, 1, 1.1);
    assert_part(&run, 1, RUN_COLLECTIVE_WAIT, 1.1);
    run_release(&run);
}

/* Two sends that both wait for their receives. */
static void deadlock(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    struct error error = {0};
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 1, 0, MB, 0);
    run_rank(&run, "c2 S0 R1");
    run_rank(&run, "S1 R0");
    run.program.sites[0].function = "MPI_Send";
    run.program.sites[0].callsite = 7;
    assert_int_equal(simulate(&run.program, &run.c.machine, &run.c.placement, &run.options, &run.result, &error), -1);
    assert_non_null(strstr(error.text, "deadlock after 0.002 s: 2 of 2 threads"));
    assert_non_null(strstr(error.text, "rank 0 in MPI_Send (call site 7), rank 1 in MPI_Send (call site 7)"));
    run_release(&run);
}

/* Without latency and transfer only what ranks compute and wait for is left. */
static void ideal(void **state)
{
    (void)state;
    struct run_case run = {.options.law = LAW_STAIRCASE, .options.ideal = {true, true}};
    run_eager_machine(&run);
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "overhead_send", 0, 1e-4, "s");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "overhead_send_byte", 0, 1e-9, "s/B");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_EAGER, "overhead_receive", 0, 1e-4, "s");
    run_ranks(&run, 3, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 1, 2, 3 * MB, 0);
    run_rank(&run, "c5 S0");
    run_rank(&run, "c2 R0 S1");
    run_rank(&run, "c3 R1");
    run_replay(&run);
    assert_end(&run, 2, 5);
    assert_part(&run, 2, RUN_LATE_SENDER, 2);
    assert_part(&run, 2, RUN_LATENCY, 0);
    assert_part(&run, 0, RUN_OTHER, 0);
    run_release(&run);
}

/* Gives the case rendezvous alone, 1 GB/s from memory, and from caches 4 GB/s one way and 6 GB/s both ways, up to
 * 2 MB. */
static void cached_machine(struct run_case *run)
{
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 1e-4, "s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 2, 1.5e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 4, 2e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw_cached", 1, 4e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw_cached", 2, 6e9, "B/s");
    case_value(&run->c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "cached_bytes", 0, 2 * MB, "B");
}

/* Messages come one after the other from memory, from caches, and from there with more than these hold whole, of
 * which a share of its kind was chosen; then two cross from caches. */
static void cached(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    cached_machine(&run);
    run_ranks(&run, 2, NULL);
    run_message(&run, 0, 1, 2 * MB, 0);
    run_message(&run, 0, 1, 2 * MB, MESSAGE_CACHED);
    run_message(&run, 0, 1, 4 * MB, MESSAGE_CACHED);
    run_message(&run, 0, 1, 2 * MB, MESSAGE_CACHED);
    run_message(&run, 1, 0, 2 * MB, MESSAGE_CACHED);
    run_rank(&run, "S0 S1 S2 r4 s3 w:s3:r4");
    run_rank(&run, "R0 R1 R2 r3 s4 w:s4:r3");
    run_replay(&run);
    assert_end(&run, 0, 2.1 + 0.6 + 1.1 + 0.1 + 2 * 2.0 / 6);
    assert_part(&run, 1, RUN_LATENCY, 0.4);
    assert_part(&run, 1, RUN_BANDWIDTH, 2 + 0.5 + 1 + 0.5);
    run_release(&run);
}

/* Four receive at once from caches: they share 6 GB/s times 2 / 1.5, as from memory. */
static void cached_shared(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    cached_machine(&run);
    run_ranks(&run, 8, NULL);
    for (uint32_t i = 0; i < 4; i++)
        run_message(&run, i, 4 + i, 2 * MB, MESSAGE_CACHED);
    for (int i = 0; i < 8; i++) {
        char words[3] = {i < 4 ? 'S' : 'R', (char)('0' + i % 4), '\0'};
        run_rank(&run, words);
    }
    run_replay(&run);
    for (uint32_t rank = 0; rank < 8; rank++)
        assert_end(&run, rank, 0.1 + 1); /* 8 MB at 8 GB/s */
    run_release(&run);
}

/* Returns the most memory that the process has had so far. */
static long most_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

/* AddressSanitizer keeps what was freed, so that memory says nothing there. */
#if defined(__SANITIZE_ADDRESS__)
enum { KEEPS_FREED_MEMORY = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { KEEPS_FREED_MEMORY = 1 };
#else
enum { KEEPS_FREED_MEMORY = 0 };
#endif
#else
enum { KEEPS_FREED_MEMORY = 0 };
#endif

/* Messages that come one after the other take memory of the replay one after the other. A process of its own begins
 * with what it has then as the most. */
static void few_at_a_time(void **state)
{
    (void)state;
    enum { MESSAGES = 300000, MOST_BYTES_A_MESSAGE = 16 };
    struct run_case run = RUN_CASE;
    struct run_program *program = &run.program;
    int status;
    run_ranks(&run, 2, NULL);
    for (uint32_t i = 0; i < MESSAGES; i++)
        run_message(&run, i % 2, 1 - i % 2, 8, 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        run_program_strand(program, rank, 0);
        for (uint32_t i = 0; i < MESSAGES; i++) {
            struct run_step step = {.object = i, .place = run_place_of(&run, rank, 0), .flags = STEP_ENTERS};
            step.kind = rank == i % 2 ? STEP_SEND : STEP_RECEIVE;
            assert_int_equal(run_program_step(program, &step), 0);
            step = (struct run_step){.object = (uint32_t)program->n_waits,
                                     .count = 1,
                                     .kind = STEP_WAIT,
                                     .place = step.place,
                                     .flags = STEP_LEAVES};
            assert_int_equal(run_program_step(program, &step), 0);
            run_program_wait(program, run_operation(i, rank == i % 2 ? OPERATION_SEND : OPERATION_RECEIVE));
        }
    }
    pid_t child = fork();
    if (child == 0) {
        long before = most_bytes();
        run_replay(&run);
        _exit(!KEEPS_FREED_MEMORY && most_bytes() - before > (long)MESSAGES * MOST_BYTES_A_MESSAGE);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_sender),   cmocka_unit_test(late_receiver), cmocka_unit_test(eager_and_synchronous),
        cmocka_unit_test(eager_late),    cmocka_unit_test(chain),         cmocka_unit_test(progress),
        cmocka_unit_test(barrier),       cmocka_unit_test(rooted),        cmocka_unit_test(nonblocking_collective),
        cmocka_unit_test(waitany),       cmocka_unit_test(overhead),      cmocka_unit_test(probe),
        cmocka_unit_test(nothing_moves), cmocka_unit_test(one_sided),     cmocka_unit_test(deadlock),
        cmocka_unit_test(ideal),         cmocka_unit_test(cached),        cmocka_unit_test(cached_shared),
        cmocka_unit_test(few_at_a_time),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
