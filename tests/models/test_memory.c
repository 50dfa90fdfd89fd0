/* Tests memory contention: share/doc/MODELS.md's worked value D, the placements by hand, and what holds for every
 * shipped machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "tests/models/cases.h"
#include "calibrate/machine/memory_contention.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static const char *const machines[] = {"billy", "bora",          "dahu",    "diablo", "grvingt",
                                       "henri", "henri-subnuma", "occigen", "pyxis"};
enum { N_MACHINES = sizeof machines / sizeof machines[0] };

static struct memory_model model_of(const char *name)
{
    struct machine machine;
    struct memory_model model = {.cores = 0};
    struct error error = {.text = ""};
    if (machine_find(name, &machine, &error) != 0 || memory_model_read(&machine, &model, &error) != 0)
        fail_msg("%s", error.text);
    machine_release(&machine);
    return model;
}

/* Compares MB/s of n cores and the message, data on those NUMA nodes. */
static void assert_mb_per_s(const struct memory_model *model, uint32_t n, uint32_t computation_numa,
                            uint32_t message_numa, double computation, double message)
{
    struct memory_bandwidth bandwidth;
    memory_predict(model, n, computation_numa, message_numa, &bandwidth);
    assert_close(bandwidth.computation * 1e-6, computation, 1e-9);
    assert_close(bandwidth.message * 1e-6, message, 1e-9);
}

static void worked_d(void **state)
{
    (void)state;
    struct memory_model henri = model_of("henri"), subnuma = model_of("henri-subnuma");
    assert_mb_per_s(&henri, 13, 0, 0, 57920.2, 11481.1);
    assert_mb_per_s(&henri, 14, 0, 0, 62375.6, 11047.4);
    assert_mb_per_s(&henri, 15, 0, 0, 62917.7935, 10505.2065);
    assert_mb_per_s(&henri, 18, 0, 0, 62882.4935, 10505.2065);
    assert_mb_per_s(&subnuma, 9, 0, 0, 31034.7544, 10530.0456);
}

/* Follows D7 and D8 on henri (one NUMA node a socket): each of the four placements, and none that computes. */
static void placements_by_hand(void **state)
{
    (void)state;
    struct memory_model henri = model_of("henri");
    struct memory_bandwidth none;
    /* Together on the remote node, n = 5 gives 5 x 4455.2 + 0.761 x 11459.6 = 30996.8 < 31629.7: what is left is
     * 9353.7. For n = 6, T = 31629.7 - 175.8 and R is above it; D5 holds from i = 5, v = 9353.7 / 11459.6, N_seq = 7.
     */
    assert_mb_per_s(&henri, 5, 1, 1, 22276.0, 9353.7);
    double share = 9353.7 / 11459.6, alpha = share - (share - 0.761) / 2;
    assert_mb_per_s(&henri, 6, 1, 1, 31453.9 - alpha * 11459.6, alpha * 11459.6);
    assert_mb_per_s(&henri, 9, 1, 1, 31278.1 - 2 * 119.8 - 0.761 * 11459.6, 0.761 * 11459.6);
    /* Apart, computation is as alone (D6), and the message has the local parameters, with the remote B_comm if it is
     * there. */
    assert_mb_per_s(&henri, 18, 1, 0, 29130.7, 0.915 * 11481.1);
    assert_mb_per_s(&henri, 18, 0, 1, 72589.9, 0.915 * 11459.6);
    assert_mb_per_s(&henri, 14, 0, 1, 14 * 4455.4, 73423.0 - 14 * 4455.4); /* R with the remote B_comm: 72861.1 */
    memory_predict(&henri, 0, 0, 1, &none);
    assert_false(none.computation > 0 || none.computation_alone > 0);
    assert_close(none.message * 1e-6, 11459.6, 1e-12);
    /* With two NUMA nodes a socket neighbours do not contend; 2 and 3 are remote. The remote values have N_seq < N_par,
     * so alpha is what is left once R is above T. */
    struct memory_model subnuma = model_of("henri-subnuma");
    assert_mb_per_s(&subnuma, 12, 0, 1, 39718.9 - 191.7, 0.853 * 11450.4);
    assert_mb_per_s(&subnuma, 12, 2, 3, 14726.2 < 15217.8 - 8 * 103.3 ? 14726.2 : 15217.8 - 8 * 103.3, 0.853 * 11410.0);
    assert_mb_per_s(&subnuma, 12, 2, 2, 15217.8 - 8 * 103.3 - 0.27 * 11410.0, 0.27 * 11410.0);
}

/* On every machine, for every number of cores of its socket and every placement, nobody gets more than alone and a
 * message never less than alpha of it; what both get together fits the memory. */
static void what_holds(void **state)
{
    (void)state;
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct memory_model model = model_of(machines[m]);
        assert_in_range(model.cores, 14, 32);
        for (uint32_t n = 1; n <= model.cores; n++)
            for (uint32_t k = 0; k < 16; k++) {
                struct memory_bandwidth b;
                bool same = k / 4 == k % 4, remote = k / 4 >= model.numa_nodes;
                const struct memory_side *side = remote ? &model.remote : &model.local;
                memory_predict(&model, n, k / 4, k % 4, &b);
                assert_true(b.message <= b.message_alone * (1 + 1e-12));
                assert_true(b.message >= (same ? side->alpha : model.local.alpha) * b.message_alone * (1 - 1e-12));
                assert_true(b.computation <= n * side->computation * (1 + 1e-12));
                if (same) {
                    double most = n <= side->cores_par   ? side->total_par
                                  : n <= side->cores_seq ? side->total_par - side->loss_left * (n - side->cores_par)
                                                         : side->total_par2 - side->loss_right * (n - side->cores_seq);
                    assert_true(b.computation + b.message <= most * (1 + 1e-12));
                } else
                    assert_true(!(b.computation < b.computation_alone));
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_d),
        cmocka_unit_test(placements_by_hand),
        cmocka_unit_test(what_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
