/* Tests the fit of memory contention: 200 made-up platforms (memory_made.h) are measured through the model's own curves
 * with 1 % of noise on each sample, and their parameters must come back.
 *
 * What counts as right:
 *   - N_par and N_seq, where they are what was drawn. Where fewer cores miss the maximum by less than the medians can
 *     tell (TIE), the smallest such number of cores is right as well.
 *   - T_par2 is the total at N_seq: at the one that was found, where that is right.
 *   - Losses are differences of totals that are known to some tenths of a percent, and may be much smaller. They count
 *     by what they are for: T(n) of every n from N_par on. Of themselves they must be as near as noise lets them be
 *     (memory_losses.h); with hardly any noise they must be right as all else is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/error.h"
#include "tests/models/memory_losses.h"
#include "tests/models/memory_made.h"
#include "share/base/statistics.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define NOISE 0.01
#define SEED  9451
enum { PLATFORMS = 200 };
/* Is half a 95 % interval of the difference of two medians, relative. */
#define TIE (1.96 * 1.4142136 * MADE_MEDIAN_ERROR(NOISE))

enum { T_PAR, T_SEQ, T_PAR2, ALPHA, ONE_CORE, ONE_MESSAGE, TOTALS, N_ERRORS };
static const char *const error_name[N_ERRORS] = {"T_par", "T_seq", "T_par2", "alpha", "B_comp", "B_comm", "T(n)"};

struct tally {
    size_t platforms, sides, n_large;
    size_t right, right_par, right_seq, exact_par, exact_seq; /* right: platforms with all four numbers right */
    double errors[N_ERRORS][2 * PLATFORMS];
    double large[4 * PLATFORMS]; /* errors of losses that take 2 % of what a core alone has, or more */
    struct losses losses;
};

/* Returns T(n) of D1. */
static double total_of(const struct memory_side *side, double n)
{
    if (n <= side->cores_par)
        return side->total_par;
    return n <= side->cores_seq ? side->total_par - side->loss_left * (n - side->cores_par)
                                : side->total_par2 - side->loss_right * (n - side->cores_seq);
}

static double off(double found, double truth)
{
    return fabs(found / truth - 1);
}

static void compare_large(struct tally *tally, const struct memory_side *truth, const struct memory_side *found)
{
    if (fabs(truth->loss_left) > 0.02 * truth->computation)
        tally->large[tally->n_large++] = off(found->loss_left, truth->loss_left);
    if (fabs(truth->loss_right) > 0.02 * truth->computation)
        tally->large[tally->n_large++] = off(found->loss_right, truth->loss_right);
}

/* Compares a side; returns whether both numbers of cores are right. */
static bool compare(struct tally *tally, const struct memory_side *truth, const struct memory_side *found,
                    uint32_t cores)
{
    static struct made_curve curve;
    size_t at = tally->sides++;
    double worst = 0;
    made_curves(truth, cores, &curve);
    uint32_t tie_par = made_first_of_largest(curve.total, cores, TIE),
             tie_seq = made_first_of_largest(curve.alone, cores, TIE);
    uint32_t n_par = (uint32_t)found->cores_par, n_seq = (uint32_t)found->cores_seq;
    bool exact_par = n_par == (uint32_t)truth->cores_par, exact_seq = n_seq == (uint32_t)truth->cores_seq;
    bool right_par = exact_par || n_par == tie_par, right_seq = exact_seq || n_seq == tie_seq;
    tally->exact_par += exact_par;
    tally->exact_seq += exact_seq;
    tally->right_par += right_par;
    tally->right_seq += right_seq;
    for (uint32_t n = (uint32_t)truth->cores_par; n <= cores; n++)
        worst = fmax(worst, off(total_of(found, n), total_of(truth, n)));
    tally->errors[T_PAR][at] = off(found->total_par, truth->total_par);
    tally->errors[T_SEQ][at] = off(found->total_seq, truth->total_seq);
    tally->errors[T_PAR2][at] = off(found->total_par2, right_seq ? curve.total[n_seq] : truth->total_par2);
    tally->errors[ALPHA][at] = off(found->alpha, truth->alpha);
    tally->errors[ONE_CORE][at] = off(found->computation, truth->computation);
    tally->errors[ONE_MESSAGE][at] = off(found->message, truth->message);
    tally->errors[TOTALS][at] = worst;
    compare_large(tally, truth, found);
    return right_par && right_seq;
}

static double percent(size_t part, size_t all)
{
    return 100.0 * (double)part / (double)all;
}

static void print(struct tally *tally)
{
    printf("%zu platforms: N_par and N_seq of both sides right in %.1f %%\n", tally->platforms,
           percent(tally->right, tally->platforms));
    printf("%zu sides: N_par right in %.1f %% (as drawn in %.1f %%), N_seq in %.1f %% (%.1f %%)\n", tally->sides,
           percent(tally->right_par, tally->sides), percent(tally->exact_par, tally->sides),
           percent(tally->right_seq, tally->sides), percent(tally->exact_seq, tally->sides));
    for (int i = 0; i < N_ERRORS; i++) {
        sort_doubles(tally->errors[i], tally->sides);
        printf("%-7s 95 %% within %.3g %%, all within %.3g %%\n", error_name[i],
               100 * tally->errors[i][tally->sides * 95 / 100 - 1], 100 * tally->errors[i][tally->sides - 1]);
    }
    sort_doubles(tally->large, tally->n_large);
    printf("losses of 2 %% of B_comp or more: half within %.3g %% of themselves, 95 %% within %.3g %%\n",
           100 * tally->large[tally->n_large / 2], 100 * tally->large[tally->n_large * 95 / 100]);
    losses_print(&tally->losses);
}

/* Measures and fits so many platforms; those of the tally are all errors, sorted. */
static void run(struct made_measuring *measuring, size_t platforms, struct tally *tally)
{
    struct twister random;
    twister_seed(&random, SEED);
    measuring->random = &random;
    memset(tally, 0, sizeof *tally);
    for (; tally->platforms < platforms; tally->platforms++) {
        struct memory_model model = made_draw(&random);
        struct made_fit fit = made_fitted(measuring, &model);
        bool local = compare(tally, &model.local, &fit.model.local, model.cores);
        bool remote = compare(tally, &model.remote, &fit.model.remote, model.cores);
        losses_add(&tally->losses, measuring, &model.local, &fit.model.local, &fit.local, model.cores);
        losses_add(&tally->losses, measuring, &model.remote, &fit.model.remote, &fit.remote, model.cores);
        tally->right += local && remote;
    }
    print(tally);
}

/* Fails unless 95 % of the numbers of cores are right, and all else is within 3 %. */
static void require(const struct tally *tally)
{
    assert_true((double)tally->right >= 0.95 * (double)tally->platforms);
    for (int i = 0; i < N_ERRORS; i++)
        if (tally->errors[i][tally->sides - 1] > 0.03)
            fail_msg("%s is off by %.2f %%", error_name[i], 100 * tally->errors[i][tally->sides - 1]);
}

static struct tally tally;

static void platforms_come_back(void **state)
{
    (void)state;
    run(&(struct made_measuring){.noise = NOISE}, PLATFORMS, &tally);
    require(&tally);
    losses_require(&tally.losses);
}

static void beyond_the_peak_left_out(void **state)
{
    (void)state;
    run(&(struct made_measuring){.noise = NOISE, .skips_beyond_peak = true}, PLATFORMS / 4, &tally);
    require(&tally);
    losses_require(&tally.losses);
}

/* With as little noise as a hundred times as many samples leave, many losses can be within 3 %. */
static void losses_come_back(void **state)
{
    (void)state;
    run(&(struct made_measuring){.noise = NOISE / 10}, PLATFORMS / 4, &tally);
    losses_require(&tally.losses);
}

/* Prints a loss of a shipped table in percent of the largest total, and the samples a point that would tell it to 3 %;
 * returns its standard error, relative. */
static double show_shipped(const char *name, const struct memory_side *side, double loss, double steps, double error)
{
    double relative = error / fabs(loss);
    printf("%-13s %6.2f %% of T_par, standard error %5.2f %%: %8.3g of itself, 3 %% takes %.0f samples\n", name,
           100 * loss * steps / side->total_par, 100 * error * steps / side->total_par, relative,
           MEMORY_SAMPLES * pow(1.96 * relative / 0.03, 2));
    return relative;
}

/* None of the losses of D's own tables that are not 0 can be told to 3 % by that noise; the nearest takes nine times as
 * many samples. This is why the table's interval is what is known of a loss. */
static void shipped_losses(void **state)
{
    (void)state;
    static const char *const names[] = {"bora", "dahu", "grvingt", "henri", "henri-subnuma", "occigen", "pyxis"};
    struct made_measuring measuring = {.noise = NOISE};
    double nearest = 1;
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        struct machine machine;
        struct memory_model model = {.cores = 0};
        struct error error = {.text = ""};
        double errors[2];
        if (machine_find(names[i / 2], &machine, &error) != 0 || memory_model_read(&machine, &model, &error) != 0)
            fail_msg("%s", error.text);
        machine_release(&machine);
        const struct memory_side *side = i % 2 == 0 ? &model.local : &model.remote;
        if (side->cores_seq < side->cores_par) /* as printed, henri-subnuma has no loss there that any n takes */
            continue;
        losses_errors(&measuring, side, model.cores, errors);
        double steps[] = {side->cores_seq - side->cores_par, model.cores - side->cores_seq};
        double losses[] = {side->loss_left, side->loss_right};
        for (int k = 0; k < 2; k++)
            if (steps[k] > 0 && losses[k] != 0)
                nearest = fmin(nearest, show_shipped(names[i / 2], side, losses[k], steps[k], errors[k]));
    }
    assert_true(1.96 * nearest > 0.03);
}

/* With hardly any noise, all is as drawn, losses among it. */
static void quiet_platforms_come_back(void **state)
{
    (void)state;
    run(&(struct made_measuring){.noise = 1e-5}, PLATFORMS / 4, &tally);
    require(&tally);
    assert_int_equal(tally.exact_par, tally.sides);
    assert_int_equal(tally.exact_seq, tally.sides);
    assert_true(tally.large[tally.n_large - 1] < 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(platforms_come_back),       cmocka_unit_test(beyond_the_peak_left_out),
        cmocka_unit_test(losses_come_back),          cmocka_unit_test(shipped_losses),
        cmocka_unit_test(quiet_platforms_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
