/* Tests memory contention: share/doc/MODELS.md's worked value D, all shipped machines, what the paper says of them, the
 * placements by hand, and laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/models/cases.h"
#include "predictor/models/memory_contention.h"

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

/* Holds what the parameters of D Tables 3 to 11 give where computation and message are on one NUMA node, local or
 * remote: MB/s of n = 1 and of all cores of the socket, by Algorithms 1 to 4 of D. */
static void shipped(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t cores, numa_node;
        double one[2], all[2];
    } expected[] = {
        {"billy", 32, 0, {2808.8, 12793.0}, {84783.794, 10771.706}},
        {"billy", 32, 1, {2746.5, 18898.9}, {64069.8523, 11207.0477}},
        {"bora", 18, 0, {4489.2, 9948.4}, {74388.6716, 9460.9284}},
        {"bora", 18, 1, {4487.6, 8784.7}, {24076.8208, 8222.4792}},
        {"dahu", 16, 0, {6656.5, 11341.2}, {59319.3892, 10876.2108}},
        {"dahu", 16, 1, {7171.3, 10607.0}, {22458.857, 10066.043}},
        {"diablo", 32, 0, {2221.1, 12139.7}, {70107.7101, 11739.0899}},
        {"diablo", 32, 1, {2210.2, 22394.3}, {66747.4756, 20334.0244}},
        {"grvingt", 16, 0, {6698.7, 9628.8}, {64572.9536, 9176.2464}},
        {"grvingt", 16, 1, {7178.5, 9345.7}, {22970.1253, 9074.6747}},
        {"henri", 18, 0, {4455.4, 11481.1}, {62882.4935, 10505.2065}},
        {"henri", 18, 1, {4455.2, 11459.6}, {21239.5444, 8720.7556}},
        {"henri-subnuma", 18, 0, {4456.4, 11450.4}, {28609.8088, 9767.1912}},
        {"henri-subnuma", 18, 2, {4455.4, 11410.0}, {10690.9, 3080.7}},
        {"occigen", 14, 0, {3417.6, 6220.0}, {47728.2, 6220.0}},
        {"occigen", 14, 1, {3417.8, 6219.5}, {18207.6, 6219.5}},
        {"pyxis", 32, 0, {3211.5, 4958.6}, {59315.786, 4909.014}},
        {"pyxis", 32, 1, {3030.8, 4390.1}, {32556.4555, 4148.6445}},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct memory_model model = model_of(expected[i].name);
        uint32_t numa = expected[i].numa_node;
        assert_int_equal(model.cores, expected[i].cores);
        assert_mb_per_s(&model, 1, numa, numa, expected[i].one[0], expected[i].one[1]);
        assert_mb_per_s(&model, model.cores, numa, numa, expected[i].all[0], expected[i].all[1]);
    }
    struct memory_model diablo = model_of("diablo");
    for (uint32_t n = 1; n <= 32; n++) {
        struct memory_bandwidth b;
        memory_predict(&diablo, n, 0, 1, &b);
        assert_close(b.message * 1e-6, n <= 26 ? 22394.3 : n == 27 ? 21877.1 : 21655.2881, 1e-9);
    }
}

/* Computes the share of its own bandwidth that a message keeps. */
static double kept(const struct memory_model *model, uint32_t n, uint32_t computation_numa, uint32_t message_numa)
{
    struct memory_bandwidth b;
    memory_predict(model, n, computation_numa, message_numa, &b);
    return b.message / b.message_alone;
}

/* Follows D 4.2: where henri's messages begin to lose, and that occigen's do not. */
static void what_the_paper_says(void **state)
{
    (void)state;
    struct memory_model henri = model_of("henri"), occigen = model_of("occigen");
    for (uint32_t n = 0; n <= henri.cores; n++)
        assert_int_equal(kept(&henri, n, 0, 0) < 1, n >= 14);
    for (uint32_t n = 0; n <= occigen.cores; n++)
        for (uint32_t k = 0; k < 4; k++)
            assert_close(kept(&occigen, n, k / 2, k % 2), 1, 1e-15);
}

/* Counts the curves over n that differ, of the message or of computation, among all placements. */
static size_t curves_of(const struct memory_model *model, bool message)
{
    double curves[16][32];
    size_t n_curves = 0;
    assert_true(model->numa_nodes == 2 && model->cores <= 32);
    for (uint32_t k = 0; k < 16; k++) {
        size_t same = 0;
        for (uint32_t n = 1; n <= model->cores; n++) {
            struct memory_bandwidth b;
            memory_predict(model, n, k / 4, k % 4, &b);
            curves[n_curves][n - 1] = message ? b.message : b.computation;
        }
        while (memcmp(curves[same], curves[n_curves], model->cores * sizeof(double)) != 0)
            same++;
        n_curves += same == n_curves;
    }
    return n_curves;
}

/* Follows D 4.2: the symmetries of the 16 placements of henri-subnuma (D7 and D8 tell 3 and 4 apart). */
static void symmetries(void **state)
{
    (void)state;
    struct memory_model subnuma = model_of("henri-subnuma");
    assert_int_equal(curves_of(&subnuma, true), 3);
    assert_int_equal(curves_of(&subnuma, false), 4);
}

/* Draws from the range. */
static double between(struct chance *chance, double least, double most)
{
    return least + (most - least) * (double)chance_below(chance, 1 << 30) / (1 << 30);
}

/* Makes parameters as a machine may have them: what is lost is less than what there is, and a message alone fits. */
static struct memory_side random_side(struct chance *chance)
{
    double total = between(chance, 2e10, 1e11);
    return (struct memory_side){.cores_par = (double)(1 + chance_below(chance, 40)),
                                .total_par = total,
                                .cores_seq = (double)(1 + chance_below(chance, 40)),
                                .total_seq = total * between(chance, 0.6, 1.1),
                                .total_par2 = total * between(chance, 0.8, 1),
                                .alpha = chance_below(chance, 4) == 0 ? 1 : between(chance, 0.1, 1),
                                .loss_left = between(chance, 0, total / 100),
                                .loss_right = between(chance, -total / 200, total / 100),
                                .computation = total / between(chance, 1, 50),
                                .message = total * between(chance, 0.02, 0.3)};
}

static double total_of(const struct memory_side *side, uint32_t n)
{
    return n <= side->cores_par   ? side->total_par
           : n <= side->cores_seq ? side->total_par - side->loss_left * (n - side->cores_par)
                                  : side->total_par2 - side->loss_right * (n - side->cores_seq);
}

/* Holds the model against laws, for 3000 machines by lot: on one NUMA node both together never have more than T(n); a
 * message has all its bandwidth while nobody computes, and with alpha = 1 always; up to N_par cores the message never
 * gains by a core more, and computation never loses by it. */
static void laws(void **state)
{
    (void)state;
    struct chance chance = {18};
    size_t with_contention = 0, untouched = 0;
    for (int drawn = 0; drawn < 3000; drawn++) {
        struct memory_model model = {.has_local = true, .has_remote = true, .numa_nodes = 1, .cores = 48};
        model.local = random_side(&chance);
        model.remote = random_side(&chance);
        for (uint32_t k = 0; k < 4; k++) {
            bool same = k / 2 == k % 2;
            const struct memory_side *computing = k / 2 == 1 ? &model.remote : &model.local;
            const struct memory_side *receiving = k == 3 ? &model.remote : &model.local;
            struct memory_bandwidth last = {0}, b;
            for (uint32_t n = 0; n <= model.cores; n++, last = b) {
                memory_predict(&model, n, k / 2, k % 2, &b);
                if (same)
                    assert_true(b.computation + b.message <= total_of(computing, n) * (1 + 1e-12));
                if (n == 0)
                    assert_true(!(b.message < b.message_alone) && !(b.computation > 0));
                if (!(receiving->alpha < 1)) {
                    assert_close(b.message, b.message_alone, 1e-12);
                    untouched++;
                }
                with_contention += b.message < b.message_alone * (1 - 1e-9);
                if (n > 0 && n <= receiving->cores_par)
                    assert_true(b.message <= last.message * (1 + 1e-12));
                if (n > 0 && n <= computing->cores_par)
                    assert_true(b.computation >= last.computation * (1 - 1e-12));
            }
        }
    }
    assert_true(with_contention > 100000 && untouched > 100000);
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

/* On every machine, for every number of cores of its socket and every placement, a message gets no more than alone
 * and never less than alpha of it; what both get together fits the memory. Computation gets more than alone in three
 * points, all of them local: billy's with 31 and 32 cores and diablo's with 32, where T - alpha B_comm is above
 * T_seq. */
static void what_holds(void **state)
{
    (void)state;
    size_t more_than_alone = 0;
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct memory_model model = model_of(machines[m]);
        assert_in_range(model.cores, 14, 32);
        for (uint32_t n = 1; n <= model.cores; n++)
            for (uint32_t k = 0; k < 16; k++) {
                struct memory_bandwidth b;
                bool same = k / 4 == k % 4, remote = k / 4 >= model.numa_nodes;
                const struct memory_side *side = remote ? &model.remote : &model.local;
                memory_predict(&model, n, k / 4, k % 4, &b);
                more_than_alone += b.computation > b.computation_alone * (1 + 1e-12);
                assert_true(b.message <= b.message_alone * (1 + 1e-12));
                assert_true(b.message >= (same ? side->alpha : model.local.alpha) * b.message_alone * (1 - 1e-12));
                assert_true(b.computation <= n * side->computation * (1 + 1e-12));
                if (same)
                    assert_true(b.computation + b.message <= total_of(side, n) * (1 + 1e-12));
                else
                    assert_true(!(b.computation < b.computation_alone));
            }
    }
    assert_int_equal(more_than_alone, 3);
}

/* Copies the rows of henri without those of a level (LEVEL_COUNT: all), and with a method for those of memory. */
static struct machine henri_without(enum level level, const char *method)
{
    struct machine henri, machine = {.name = "part"};
    struct error error = {.text = ""};
    if (machine_find("henri", &henri, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < henri.n_parameters; i++) {
        struct machine_parameter row = henri.parameters[i];
        if (row.level != LEVEL_COUNT)
            snprintf(row.method, sizeof row.method, "%s", method);
        if (row.level != level || row.level == LEVEL_COUNT)
            machine_append(&machine, &row);
    }
    machine_release(&henri);
    return machine;
}

static void one_side(void **state)
{
    (void)state;
    struct memory_model model, whole = model_of("henri");
    struct memory_bandwidth b;
    struct error error = {.text = ""};
    assert_true(whole.has_local && whole.has_remote && !whole.cpu_copy);
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(memory_model_covers(&whole, "henri", k / 2, k % 2, &error), 0);

    struct machine local = henri_without(LEVEL_INTER_SOCKET, "memory");
    assert_int_equal(memory_model_read(&local, &model, &error), 0);
    assert_true(model.has_local && !model.has_remote && !model.cpu_copy);
    assert_int_equal(memory_model_covers(&model, "part", 0, 0, &error), 0);
    memory_predict(&model, 15, 0, 0, &b);
    assert_close(b.message * 1e-6, 10505.2065, 1e-12);
    for (uint32_t k = 1; k < 4; k++) {
        assert_int_equal(memory_model_covers(&model, "part", k / 2, k % 2, &error), -1);
        assert_non_null(strstr(error.text, "machine 'part' has no memory_... at level inter_socket"));
    }
    machine_release(&local);

    struct machine remote = henri_without(LEVEL_INTRA_SOCKET, "cpu-copy");
    assert_int_equal(memory_model_read(&remote, &model, &error), 0);
    assert_true(!model.has_local && model.has_remote && model.cpu_copy);
    assert_int_equal(memory_model_covers(&model, "part", 1, 1, &error), 0);
    memory_predict(&model, 5, 1, 1, &b);
    assert_close(b.message * 1e-6, 9353.7, 1e-12);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(memory_model_covers(&model, "part", k / 2, k % 2, &error), -1);
        assert_non_null(strstr(error.text, "intra_socket"));
    }

    /* Two remote nodes contend as local ones do (D7), so their placement needs both sides. */
    assert_int_equal(memory_model_covers(&model, "part", 1, 2, &error), -1);
    struct machine_parameter row = remote.parameters[0];
    assert_string_equal(row.quantity, "memory_cores_par");
    row.level = LEVEL_INTRA_SOCKET;
    machine_append(&remote, &row);
    model.cores = 7;
    assert_int_equal(memory_model_read(&remote, &model, &error), -1);
    assert_non_null(strstr(error.text, "intra_socket"));
    assert_int_equal(model.cores, 7);
    machine_release(&remote);

    struct machine nothing = {.name = "nothing"};
    assert_int_equal(memory_model_read(&nothing, &model, &error), -1);
    assert_non_null(strstr(error.text, "machine 'nothing' has no memory_cores_par"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_d),   cmocka_unit_test(shipped),  cmocka_unit_test(what_the_paper_says),
        cmocka_unit_test(symmetries), cmocka_unit_test(laws),     cmocka_unit_test(placements_by_hand),
        cmocka_unit_test(what_holds), cmocka_unit_test(one_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
