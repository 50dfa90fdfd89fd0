/* Tests what of the memory benchmark needs neither MPI nor threads: seats of threads and data on made-up machines, the
 * order of tasks, the peak, what counts of a sample, and who copies messages. */
#include <hwloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/benchmark/memory/memory_plan.h"
#include "calibrate/benchmark/memory/memory_seats.h"
#include "calibrate/benchmark/memory/memory_steady.h"

#include <cmocka.h> /* last: it defines fail as a macro */

/* Two sockets of two NUMA nodes of four cores of two hardware threads: core 3 has the threads 6 and 7. */
static const char two_by_two[] = "pack:2 numa:2 core:4 pu:2";

static hwloc_topology_t synthetic(const char *description)
{
    hwloc_topology_t topology;
    assert_int_equal(hwloc_topology_init(&topology), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology, description), 0);
    assert_int_equal(hwloc_topology_load(topology), 0);
    return topology;
}

/* Chooses seats where the process may use those hardware threads, as hwloc's lists have them ("0-3,8"). */
static void find(hwloc_topology_t topology, const char *allowed, const struct memory_sender *sender,
                 struct memory_seats *seats)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    assert_non_null(set);
    assert_int_equal(hwloc_bitmap_list_sscanf(set, allowed), 0);
    memory_seats_find(topology, set, sender, seats);
    hwloc_bitmap_free(set);
}

static void expect_cores(const struct memory_seats *seats, const unsigned *threads, uint32_t n)
{
    assert_int_equal(seats->n_cores, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(seats->cores[i], threads[i]);
}

static void seats_of_a_whole_node(void **state)
{
    (void)state;
    hwloc_topology_t topology = synthetic(two_by_two);
    const struct memory_sender elsewhere = {.same_machine = false};
    struct memory_seats seats;
    find(topology, "0-31", &elsewhere, &seats);
    expect_cores(&seats, (const unsigned[]){0, 2, 4, 6, 8, 10, 12, 14}, 8);
    assert_int_equal(seats.n_cores_socket, 8);
    assert_int_equal(seats.n_computing, 7);
    assert_int_equal(seats.receiving, 14);
    assert_int_equal(seats.numa_nodes, 2);
    assert_int_equal(seats.numa_all, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(seats.numa[i]->logical_index, i);
    assert_int_equal(seats.level, LEVEL_INTER_NODE);
    assert_false(seats.sender_is_bound);
    memory_seats_release(&seats);
    hwloc_topology_destroy(topology);
}

/* Uses no more than the launcher allows; a socket of which too little is left is passed over. */
static void seats_of_a_part(void **state)
{
    (void)state;
    hwloc_topology_t topology = synthetic(two_by_two);
    const struct memory_sender elsewhere = {.same_machine = false};
    struct memory_seats seats;
    find(topology, "1,3,5-6", &elsewhere, &seats); /* the second thread of three cores, the first of one */
    expect_cores(&seats, (const unsigned[]){1, 3, 5, 6}, 4);
    assert_int_equal(seats.n_cores_socket, 8);
    assert_int_equal(seats.receiving, 6);
    memory_seats_release(&seats);

    find(topology, "2-5,16-31", &elsewhere, &seats); /* two cores of the first socket, all of the second */
    expect_cores(&seats, (const unsigned[]){16, 18, 20, 22, 24, 26, 28, 30}, 8);
    assert_int_equal(seats.numa_nodes, 2);
    assert_int_equal(seats.numa_all, 4);
    for (unsigned i = 0; i < 4; i++) /* its own nodes come first */
        assert_int_equal(seats.numa[i]->logical_index, (i + 2) % 4);
    memory_seats_release(&seats);

    find(topology, "2-3", &elsewhere, &seats); /* one core: none is left to compute */
    expect_cores(&seats, (const unsigned[]){2}, 1);
    assert_int_equal(seats.n_computing, 0);
    assert_int_equal(seats.receiving, 2);
    memory_seats_release(&seats);

    find(topology, "2,18", &elsewhere, &seats); /* one core of each socket: the first */
    expect_cores(&seats, (const unsigned[]){2}, 1);
    assert_int_equal(seats.numa[0]->logical_index, 0);
    memory_seats_release(&seats);
    hwloc_topology_destroy(topology);
}

static void sender_on_the_same_machine(void **state)
{
    (void)state;
    hwloc_topology_t topology = synthetic(two_by_two);
    struct memory_sender here = {.same_machine = true};
    struct memory_seats seats;
    CPU_ZERO(&here.cpus);
    for (unsigned i = 0; i < 32; i++)
        CPU_SET(i, &here.cpus);
    find(topology, "0-31", &here, &seats); /* it takes a core of the other socket */
    assert_int_equal(seats.level, LEVEL_INTER_SOCKET);
    assert_true(seats.sender_is_bound);
    assert_int_equal(seats.sending, 16);
    assert_int_equal(seats.n_computing, 7);
    memory_seats_release(&seats);

    for (unsigned i = 16; i < 32; i++) /* it may not use the other socket: the last but one core */
        CPU_CLR(i, &here.cpus);
    find(topology, "0-31", &here, &seats);
    assert_int_equal(seats.level, LEVEL_INTRA_SOCKET);
    assert_true(seats.sender_is_bound);
    assert_int_equal(seats.sending, 12);
    assert_int_equal(seats.n_computing, 6);
    assert_int_equal(seats.receiving, 14);
    memory_seats_release(&seats);

    find(topology, "0-3", &here, &seats); /* two cores: it has to share one */
    assert_int_equal(seats.level, LEVEL_INTRA_SOCKET);
    assert_false(seats.sender_is_bound);
    assert_int_equal(seats.n_computing, 1);
    assert_int_equal(seats.receiving, 2);
    memory_seats_release(&seats);
    hwloc_topology_destroy(topology);
}

static void machines_of_other_forms(void **state)
{
    (void)state;
    const struct memory_sender elsewhere = {.same_machine = false};
    static const struct {
        const char *machine;
        uint32_t cores, numa_nodes, numa_all;
    } cases[] = {
        {"pack:1 core:2 pu:1", 2, 1, 1},
        {"numa:1 pack:2 core:4 pu:1", 4, 1, 1}, /* a node of both sockets is on both: none is remote */
        {"pack:4 numa:1 core:6 pu:1", 6, 1, 4},
        {"core:5 pu:2", 5, 1, 1}, /* without sockets the machine is one */
        {"pu:7", 7, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hwloc_topology_t topology = synthetic(cases[i].machine);
        struct memory_seats seats;
        find(topology, "0-63", &elsewhere, &seats);
        if (seats.n_cores != cases[i].cores || seats.numa_nodes != cases[i].numa_nodes ||
            seats.numa_all != cases[i].numa_all)
            fail_msg("%s: %u cores, %u NUMA nodes of %u", cases[i].machine, seats.n_cores, seats.numa_nodes,
                     seats.numa_all);
        memory_seats_release(&seats);
        hwloc_topology_destroy(topology);
    }
}

static void make(struct memory_plan *plan, uint32_t n, uint32_t numa_nodes, uint32_t numa_all, bool all, bool skip)
{
    const struct memory_asked asked = {n, numa_nodes, numa_all, all, skip, 7};
    memory_plan_make(&asked, plan);
}

static void placements(void **state)
{
    (void)state;
    struct memory_plan plan;
    make(&plan, 7, 2, 4, false, false); /* local and remote: 7 alone, 7 together, a message each */
    assert_int_equal(plan.n_tasks, 2 * 15);
    assert_int_equal(memory_plan_left(&plan), 2 * 15 * MEMORY_SAMPLES);
    assert_non_null(memory_plan_find(&plan, &(struct memory_place){MEMORY_COMPUTATION, 2, 2, 7}));
    assert_null(memory_plan_find(&plan, &(struct memory_place){MEMORY_COMPUTATION, 1, 1, 1}));
    assert_null(memory_plan_find(&plan, &(struct memory_place){MEMORY_COMPUTATION, 0, 2, 1}));
    memory_plan_release(&plan);

    make(&plan, 7, 2, 4, true, false); /* 16 placements; what is alone is so once a node */
    assert_int_equal(plan.n_tasks, 16 * 7 + 4 * 7 + 4);
    assert_non_null(memory_plan_find(&plan, &(struct memory_place){MEMORY_COMPUTATION, 3, 1, 7}));
    memory_plan_release(&plan);

    make(&plan, 1, 1, 1, true, true);
    assert_int_equal(plan.n_tasks, 3);
    memory_plan_release(&plan);
}

/* Measures a made-up machine to the end; the bandwidth of n cores is curve[n - 1]. */
static void measure_all(struct memory_plan *plan, const double *curve, size_t *n_samples)
{
    struct memory_task *task;
    for (*n_samples = 0; (task = memory_plan_next(plan)) != NULL; ++*n_samples) {
        double bandwidth = task->place.n > 0 ? curve[task->place.n - 1] : 10;
        double noise = 1 + 0.004 * (double)(task->samples.n % 3); /* intervals have a width */
        assert_false(task->is_left_out);
        point_add(&task->samples, noise / bandwidth);
    }
    assert_int_equal(memory_plan_left(plan), 0);
}

static void every_task_gets_its_samples(void **state)
{
    (void)state;
    static const double curve[] = {1, 2, 3, 4, 5, 6, 7};
    struct memory_plan plan;
    size_t n_samples, n_changes = 0;
    make(&plan, 7, 2, 4, false, false);
    struct memory_task *before = memory_plan_next(&plan);
    for (int i = 0; i < 30; i++) { /* the first round has every task once, not in the order of the list */
        struct memory_task *task = i == 0 ? before : memory_plan_next(&plan);
        n_changes += task != before && task != before + 1;
        assert_int_equal(task->samples.n, 0);
        point_add(&task->samples, 1 / curve[0]);
        before = task;
    }
    assert_true(n_changes > 10);
    measure_all(&plan, curve, &n_samples);
    assert_int_equal(n_samples, 30 * (MEMORY_SAMPLES - 1));
    memory_plan_release(&plan);
}

static void peaks(void **state)
{
    (void)state;
    static const struct {
        double curve[8];
        uint32_t peak;
        size_t n_tasks; /* measured: a message, what was alone up to two behind the peak and the last, and together */
    } cases[] = {
        {{1, 2, 3, 3.001, 3.002, 2.9, 2.8, 2.7}, 3, 1 + 6 + 4}, /* ties within the interval take the smallest n */
        {{1, 2, 3, 2.9, 3.5, 3.4, 3.3, 3.2}, 5, 1 + 8 + 6},     /* one n behind is not enough */
        {{1, 2, 3, 4, 5, 6, 7, 8}, 8, 1 + 8 + 8},
        {{5, 4, 3, 2, 1, 1, 1, 1}, 1, 1 + 4 + 2},
        {{1, 2, 3, 4, 5, 6, 7, 6}, 7, 1 + 8 + 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct memory_plan plan;
        size_t n_samples;
        make(&plan, 8, 1, 1, false, true);
        assert_int_equal(memory_plan_peak(&plan, 0), 0);
        measure_all(&plan, cases[i].curve, &n_samples);
        if (memory_plan_peak(&plan, 0) != cases[i].peak || n_samples != MEMORY_SAMPLES * cases[i].n_tasks)
            fail_msg("case %zu: peak at %u, %zu samples", i, memory_plan_peak(&plan, 0), n_samples);
        for (uint32_t n = 1; n <= 8; n++) {
            const struct memory_place together = {MEMORY_COMPUTATION, 0, 0, n};
            bool expected = n <= cases[i].peak || n == 8;
            assert_int_equal(memory_plan_find(&plan, &together)->samples.n, expected ? MEMORY_SAMPLES : 0);
        }
        memory_plan_release(&plan);
    }
}

/* A plan that goes on from samples of before measures the rest only. */
static void resumed(void **state)
{
    (void)state;
    static const double curve[] = {1, 2, 2, 2, 2, 2};
    struct memory_plan plan;
    size_t n_samples;
    make(&plan, 6, 1, 1, false, true);
    for (int i = 0; i < MEMORY_SAMPLES; i++)
        point_add(
            &memory_plan_find(&plan, &(struct memory_place){MEMORY_COMPUTATION_ALONE, 0, MEMORY_NO_DATA, 1})->samples,
            1);
    assert_int_equal(memory_plan_next(&plan)->place.n, 2);
    measure_all(&plan, curve, &n_samples);
    assert_int_equal(n_samples, MEMORY_SAMPLES * (1 + 4 + 3)); /* alone 2, 3, 4, 6; together 1, 2, 6 */
    memory_plan_release(&plan);
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

/* Two cores: the one ends iterations at 1, 2, ..., 10, the other at 2.5, 5, 7.5, 10. */
static void steady_time(void **state)
{
    (void)state;
    double first[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, second[] = {2.5, 5, 7.5, 10};
    struct memory_iterations cores[] = {{first, 10}, {second, 4}};
    struct memory_window window;
    assert_true(memory_steady_window(cores, 2, &window));
    near(window.begin_s, 2.5);                                            /* when the second has ended its first */
    near(window.end_s, 7.5);                                              /* when it begins its last */
    assert_int_equal(memory_steady_bytes(cores, 2, 1000, &window), 7000); /* five iterations and two */
    const struct memory_iterations swapped[] = {cores[1], cores[0]};
    assert_true(memory_steady_window(swapped, 2, &window)); /* whichever core comes first */
    near(window.begin_s, 2.5);
    near(window.end_s, 7.5);
    assert_true(memory_steady_window(cores, 1, &window));
    near(window.begin_s, 1);
    near(window.end_s, 9);
    assert_int_equal(memory_steady_bytes(cores, 1, 1000, &window), 8000);

    cores[1].n = 2; /* first and last are all it did */
    assert_false(memory_steady_window(cores, 2, &window));
    double late[] = {9.5, 10, 11};
    cores[1] = (struct memory_iterations){late, 3}; /* it began when the first was at its last */
    assert_false(memory_steady_window(cores, 2, &window));
    assert_false(memory_steady_window(cores, 0, &window));
}

static void steady_messages(void **state)
{
    (void)state;
    struct memory_window times[] = {{2.6, 3}, {3, 4}, {4, 5.5}, {5.5, 7}, {7, 8}};
    const struct memory_messages messages = {times, 5};
    const struct memory_window window = {2.5, 7.5};
    double seconds;
    assert_int_equal(memory_steady_messages(&messages, &window, &seconds), 3); /* not the first, nor the last */
    near(seconds, 4);
    assert_int_equal(memory_steady_messages(&messages, NULL, &seconds), 4);
    near(seconds, 5);
    const struct memory_window narrow = {3.5, 5};
    assert_int_equal(memory_steady_messages(&messages, &narrow, &seconds), 0);
    near(seconds, 0);
}

static void who_copies(void **state)
{
    (void)state;
    static const struct {
        struct transport_use use;
        bool is_copy;
        const char *seen;
    } cases[] = {
        {{2500000000, 0.25, 0.001, 0.0, 3000}, false, "0 % system time while 2500 MB came at 10.00 GB/s"},
        {{250000000, 0.25, 0.025, 0.1, 3000}, false, "10 % system time"}, /* it waits with as many system calls */
        {{250000000, 0.25, 0.050, 0.1, 3000}, true, "20 % system time"},  /* 10 GB/s beside that */
        {{300000000, 0.25, 0.080, 0.0, 300100000}, true, "TCP sockets brought 300 of 300 MB"},
        {{12000000, 0.25, 0.002, 0.0, 12010000}, true, "TCP sockets brought 12 of 12 MB"}, /* slow TCP costs little */
        {{6000000000, 0.25, 0.010, 0.0, 0}, false, "4 % system time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct transport transport;
        transport_judge(&cases[i].use, &transport);
        if (transport.is_copy != cases[i].is_copy || strstr(transport.seen, cases[i].seen) == NULL)
            fail_msg("case %zu: copy %d, '%s'", i, transport.is_copy, transport.seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seats_of_a_whole_node),
        cmocka_unit_test(seats_of_a_part),
        cmocka_unit_test(sender_on_the_same_machine),
        cmocka_unit_test(machines_of_other_forms),
        cmocka_unit_test(placements),
        cmocka_unit_test(every_task_gets_its_samples),
        cmocka_unit_test(peaks),
        cmocka_unit_test(resumed),
        cmocka_unit_test(steady_time),
        cmocka_unit_test(steady_messages),
        cmocka_unit_test(who_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
