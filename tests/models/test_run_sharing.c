/* Tests by hand how messages that move at one time share what they share (share/doc/MODELS.md, Whole run, Sharing), and
 * when a buffer ends their sends. Times are ms; 1 MB takes 1 ms unless a case says otherwise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "tests/models/run_case.h"

#include <cmocka.h> /* last: it defines fail as a macro */

enum { MB = 1000000 };

/* Two pairs share one socket that gives 1 GB/s in all: from 0.5 on each has half of it. */
static void contention(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    run_ranks(&run, 4, NULL);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 2, 3, MB, 0);
    run_rank(&run, "S0");
    run_rank(&run, "R0");
    run_rank(&run, "c0.5 S1");
    run_rank(&run, "c0.5 R1");
    run_replay(&run);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_end(&run, rank, rank < 2 ? 1.5 : 2);
        assert_part(&run, rank, RUN_BANDWIDTH, 1);
        assert_part(&run, rank, RUN_CONTENTION, 0.5);
    }
    run_release(&run);
}

/* With a buffer of 0.4 MB a send is over when so much is left; an eager one of less at once. */
static void buffer(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    static const uint32_t node[] = {0, 1};
    run_eager_machine(&run);
    case_value(&run.c, LEVEL_INTER_NODE, PROTOCOL_ANY, "buffer", 0, 4e5, "B");
    run_ranks(&run, 2, node);
    run_message(&run, 0, 1, 3 * MB, 0);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, 4 * MB / 10, 0);
    run_rank(&run, "S0 c3 S1 c3 S2");
    run_rank(&run, "R0 c1 R1 R2");
    run_replay(&run);
    assert_part(&run, 0, RUN_BANDWIDTH, 2.6 + 0.6);
    assert_part(&run, 0, RUN_LATENCY, 0.1);
    assert_end(&run, 0, 0.1 + 2.6 + 3 + 0.6 + 3);
    assert_end(&run, 1, 9.3 + 0.4 + 0.1);
    run_release(&run);
}

/* Two nodes send to a third: its NIC is the limit under all laws that know who receives; out of node 0 a third message
 * is alone. */
static void laws(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1, 2, 3, 0};
    for (enum run_law law = LAW_POSTAL; law < LAW_COUNT; law++) {
        struct run_case run = {.options.law = law};
        run_ranks(&run, 5, node);
        run_message(&run, 0, 2, MB, 0);
        run_message(&run, 1, 2, MB, 0);
        run_message(&run, 4, 3, MB, 0);
        run_rank(&run, "S0");
        run_rank(&run, "S1");
        run_rank(&run, "r0 r1 w:r0:r1");
        run_rank(&run, "R2");
        run_rank(&run, "S2");
        run_replay(&run);
        /* Node 0 sends two messages at once, which fair and flow let share its NIC: both have half of it. */
        bool nics = law == LAW_FLOW || law == LAW_FLOW_WINDOW || law == LAW_FAIR;
        assert_end(&run, 2, law == LAW_POSTAL || law == LAW_NODE_AWARE ? 1 : 2);
        assert_end(&run, 3, nics ? 2 : 1);
        if (law == LAW_FLOW_WINDOW) { /* the transport takes the last bytes */
            assert_end(&run, 4, 2 - 2 * 0.09216);
        } else {
            assert_end(&run, 4, nics ? 2 : 1);
            assert_part(&run, 4, RUN_CONTENTION, nics ? 1 : 0);
        }
        run_release(&run);
    }
}

/* A receiver takes one message within its node after another: that which began first, of those that began together the
 * first one; one that stands still lets the next one pass. Rank 0 leaves MPI at 2, with half of message 1 left. */
static void one_after_another(void **state)
{
    (void)state;
    struct run_case run = {.options.law = LAW_SERIAL};
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        case_value(&run.c, level, PROTOCOL_ANY, "tau", 0, 0, "s");
        case_value(&run.c, level, PROTOCOL_ANY, "bw", 1, 1e9, "B/s");
        case_value(&run.c, level, PROTOCOL_ANY, "progress", 0, 1, "1");
    }
    run_ranks(&run, 4, NULL);
    run_message(&run, 0, 3, MB, 0);
    run_message(&run, 1, 3, 2 * MB, 0);
    run_message(&run, 2, 3, MB, 0);
    run_rank(&run, "S0");
    run_rank(&run, "s1 x2 c0.5 w:s1");
    run_rank(&run, "c0.5 S2");
    run_rank(&run, "r0 r1 r2 w:r0:r1:r2");
    run_replay(&run);
    assert_end(&run, 0, 1);
    assert_end(&run, 1, 3.5); /* from 2 to 2.5 message 2 has its turn, then message 1, which began before it */
    assert_end(&run, 2, 4);
    assert_end(&run, 3, 4);
    run_release(&run);
}

/* The first message of a connection has a buffer of 92,160 B; the next one, behind 1 MB, has a window of 78,960 B.
 * What NICs serve goes by windows: beside a first message of another connection it gets 78960/(78960 + 28960) of the
 * card. */
static void windows(void **state)
{
    (void)state;
    struct run_case run = {.options.law = LAW_FLOW_WINDOW};
    static const uint32_t node[] = {0, 1, 0, 2};
    run_ranks(&run, 4, node);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 0, 1, MB, 0);
    run_message(&run, 2, 3, MB, 0);
    run_rank(&run, "S0 c1 S1");
    run_rank(&run, "R0 c5 R1");
    run_rank(&run, "c6 S2");
    run_rank(&run, "c1 R2");
    run_replay(&run);
    double share = 78960.0 / (78960 + 28960), buffer = 78960.0 * 2 * 2304 / 1448;
    assert_end(&run, 0, 6 + (1 - buffer * 1e-6) / share);
    assert_end(&run, 1, 6 + 1 / share);
    double left = 1 - (1 - share) / share; /* of message 2 as message 1 is through */
    assert_end(&run, 2, 6 + 1 / share + left - 0.09216);
    assert_end(&run, 3, 6 + 1 / share + left);
    run_release(&run);
}

/* Messages within the receiver's node share its socket: T12 with one message of each level. */
static void mixed_levels(void **state)
{
    (void)state;
    struct run_case run = RUN_CASE;
    static const uint32_t node[] = {0, 0, 0}, socket[] = {0, 0, 1};
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&run.c, LEVEL_INTRA_SOCKET, PROTOCOL_ANY, "bw", 1, 4e9, "B/s");
    case_value(&run.c, LEVEL_INTER_SOCKET, PROTOCOL_ANY, "tau", 0, 0, "s");
    case_value(&run.c, LEVEL_INTER_SOCKET, PROTOCOL_ANY, "bw", 1, 2e9, "B/s");
    run_ranks(&run, 3, node);
    placement_release(&run.c.placement);
    case_place(&run.c, 3, node, socket);
    run_message(&run, 1, 0, 3 * MB, 0);
    run_message(&run, 2, 0, 6 * MB, 0);
    run_rank(&run, "r0 r1 w:r0:r1");
    run_rank(&run, "S0");
    run_rank(&run, "S1");
    run_replay(&run);
    /* Together 3 GB/s, so 1.5 each: the first is through at 2; then 3 MB at 2 GB/s. */
    assert_end(&run, 1, 2);
    assert_end(&run, 2, 3.5);
    run_release(&run);
}

/* Returns what 66 bytes of headers a packet of 1448 are beyond those of full packets, at 1 GB/s. */
static double headers_ms(double bytes)
{
    return 66 * (ceil(bytes / 1448) - bytes / 1448) * 1e-6;
}

/* Eager messages, up to 2 MB, at 2 GB/s; a wire of 1 GB/s; buckets of 0.5 MB. */
static void bucket_table(struct run_case *run)
{
    for (enum level level = LEVEL_INTRA_SOCKET; level < LEVEL_COUNT; level++) {
        case_value(&run->c, level, PROTOCOL_EAGER, "tau", 0, 0, "s");
        case_value(&run->c, level, PROTOCOL_EAGER, "bw", 1, 2e9, "B/s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "tau", 0, 0, "s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "bw", 1, 1e9, "B/s");
        case_value(&run->c, level, PROTOCOL_RENDEZVOUS, "threshold", 0, 2000000, "B");
    }
    case_value(&run->c, LEVEL_INTER_NODE, PROTOCOL_ANY, "burst", 0, 5e5, "B");
}

/* A token bucket of 0.5 MB lets eager messages through at 2 GB/s while the wire carries 1 GB/s. The first one has
 * emptied it after 0.5 and 1 MB; then its rest takes 0.5. Until the second comes the bucket has got 0.25 MB, which last
 * for 0.25 and 0.5 MB. Two that share a NIC empty its bucket together. Without flow's NICs there are no buckets.
 * Headers of packets that are not full come out of the bucket as well. */
static void bucket(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1, 2, 3, 2};
    for (enum run_law law = LAW_STAIRCASE; law <= LAW_FLOW; law++) {
        struct run_case run = {.options.law = law};
        bool has_buckets = law == LAW_FLOW;
        bucket_table(&run);
        run_ranks(&run, 5, node);
        run_message(&run, 0, 1, 3 * MB / 2, 0);
        run_message(&run, 0, 1, MB, 0);
        run_message(&run, 2, 3, MB, 0);
        run_message(&run, 4, 3, MB, 0);
        run_rank(&run, "S0 c1.25 S1");
        run_rank(&run, "R0 R1");
        run_rank(&run, "S2");
        run_rank(&run, "r2 r3 w:r2:r3");
        run_rank(&run, "S3");
        run_replay(&run);
        assert_end(&run, 1, has_buckets ? 2 + headers_ms(3 * MB / 2) + headers_ms(MB) : 2.5);
        assert_part(&run, 1, RUN_LATE_SENDER, has_buckets ? 0.25 - headers_ms(3 * MB / 2) : 0);
        assert_end(&run, 3, has_buckets ? 1.5 + 2 * headers_ms(MB) : 2);
        run_release(&run);
    }
}

/* A collective of recorded length leaves the buckets as empty as what its members send by the MPI's algorithm: of 1 MB
 * in an alltoall of two half goes to the other one, which is all of a bucket. Behind it a message has the wire's 1 GB/s
 * alone; behind one that hands in nothing it has 2. */
static void collective_bucket(void **state)
{
    (void)state;
    static const uint32_t node[] = {0, 1};
    for (int empties = 0; empties < 2; empties++) {
        struct run_case run = {.options.law = LAW_FLOW, .program.mpi_family = MPI_FAMILY_OPEN_MPI};
        bucket_table(&run);
        run_ranks(&run, 2, node);
        run_collective(&run, DEPENDS_ON_ALL, UINT32_MAX, 0);
        run.program.collectives[0].kind = COLLECTIVE_ALLTOALL;
        for (size_t m = 0; m < 2; m++)
            run.program.members[m].bytes = empties ? MB : 0;
        run_message(&run, 0, 1, MB, 0);
        run_rank(&run, "B0 S0");
        run_rank(&run, "B0 R0");
        run_replay(&run);
        assert_end(&run, 1, empties ? 1 : 0.5 + headers_ms(MB));
        run_release(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contention), cmocka_unit_test(buffer),
        cmocka_unit_test(laws),       cmocka_unit_test(one_after_another),
        cmocka_unit_test(windows),    cmocka_unit_test(mixed_levels),
        cmocka_unit_test(bucket),     cmocka_unit_test(collective_bucket),
    };
    return cmocka_run_group_tests_name("run_sharing", tests, NULL, NULL);
}
