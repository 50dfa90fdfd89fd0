/* Tests the fit of memory contention: 200 made-up platforms are measured through the model's own curves with 1 % of
 * noise on each sample, and their parameters must come back.
 *
 * The platforms are drawn as those of D's Tables 3 to 11 are: cores, bandwidths, what the totals are to each other, and
 * what a core more loses, over what a core alone has. Each side has the parameters that D 3.1 reads from its own curves
 * without noise: a table made by measurement has such ones, since of alike totals the smallest number of cores counts.
 *
 * What counts as right:
 *   - N_par and N_seq, where they are what was drawn. Where fewer cores miss the maximum by less than the medians can
 *     tell (TIE), the smallest such number of cores is right as well.
 *   - T_par2 is the total at N_seq: at the one that was found, where that is right.
 *   - Losses are differences of totals that are known to some tenths of a percent, and may be much smaller. They count
 *     by what they are for: T(n) of every n from N_par on. How far they are off themselves is printed, and with hardly
 *     any noise they must be right as all else is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>

#include "calibrate/fit/fit_memory.h"
#include "predictor/models/memory_contention.h"

#include <cmocka.h> /* last: it defines fail as a macro */

#define NOISE 0.01
#define SEED  9451
enum { PLATFORMS = 200, SAMPLES = 12 };
/* Is half a 95 % interval of the difference of two medians of so many samples, relative: 1.96 sqrt(2) times the
 * standard error sqrt(pi / 2) NOISE / sqrt(SAMPLES) of a median. */
#define TIE (1.96 * 1.4142136 * 1.2533141 * NOISE / 3.4641016)

/* Says how platforms are measured. */
struct measuring {
    gsl_rng *random;
    double noise;           /* relative standard deviation of a sample */
    bool skips_beyond_peak; /* leaves out n between N_seq and the last */
};

static double uniform(gsl_rng *random, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(random);
}

/* Holds bandwidths without noise, by the number of cores. */
struct curve {
    double alone[MEMORY_MAX_CORES], total[MEMORY_MAX_CORES], message[MEMORY_MAX_CORES];
};

/* Puts the same parameters on both sides, so that either gives the curves. */
static void curves_of(const struct memory_side *side, uint32_t cores, struct curve *curve)
{
    const struct memory_model model = {.local = *side, .remote = *side, .numa_nodes = 1, .cores = cores};
    for (uint32_t n = 1; n <= cores; n++) {
        struct memory_bandwidth together;
        memory_predict(&model, n, 0, 0, &together);
        curve->alone[n] = together.computation_alone;
        curve->total[n] = together.computation + together.message;
        curve->message[n] = together.message;
    }
}

/* Returns the smallest n whose value is the largest, or misses it by no more than tie. */
static uint32_t first_of_largest(const double *values, uint32_t cores, double tie)
{
    double largest = 0;
    for (uint32_t n = 1; n <= cores; n++)
        largest = fmax(largest, values[n]);
    uint32_t n = 1;
    while (values[n] < largest * (1 - tie))
        n++;
    return n;
}

/* Says whether D 3.1 reads these parameters from their own curves. */
static bool shows_itself(const struct memory_side *side, uint32_t cores)
{
    static struct curve curve;
    double least = side->message;
    curves_of(side, cores, &curve);
    uint32_t par = first_of_largest(curve.total, cores, 1e-9), seq = first_of_largest(curve.alone, cores, 1e-9);
    if (par != (uint32_t)side->cores_par || seq != (uint32_t)side->cores_seq)
        return false;
    for (uint32_t n = 1; n <= cores; n++) {
        least = fmin(least, curve.message[n]);
        if (!(curve.total[n] - curve.message[n] > 0))
            return false;
    }
    return fabs(curve.total[par] / side->total_par - 1) < 1e-9 && fabs(curve.alone[seq] / side->total_seq - 1) < 1e-9 &&
           fabs(curve.total[seq] / side->total_par2 - 1) < 1e-9 && fabs(least / side->message / side->alpha - 1) < 1e-9;
}

/* Draws a side in the ranges of D's tables, until it is one that shows itself. */
static struct memory_side draw_side(gsl_rng *random, uint32_t cores)
{
    struct memory_side side;
    double ratio;
    do {
        double further = gsl_rng_uniform(random) < 0.5 ? 0 : (double)(1 + gsl_rng_uniform_int(random, 6));
        side.cores_seq = (double)(4 + gsl_rng_uniform_int(random, cores - 3));
        side.cores_par = side.cores_seq - further;
        side.computation = uniform(random, 2200e6, 7200e6);
        side.message = uniform(random, 4400e6, 22400e6);
        side.alpha = gsl_rng_uniform(random) < 0.1 ? 1 : uniform(random, 0.27, 1);
        side.loss_left = further > 0 ? uniform(random, 0, 0.21) * side.computation : 0;
        side.loss_right = side.cores_seq < cores ? uniform(random, -0.005, 0.1) * side.computation : 0;
        side.total_seq = (side.cores_seq - gsl_rng_uniform(random)) * side.computation;
        side.total_par = (side.cores_par - gsl_rng_uniform(random)) * side.computation + side.message;
        side.total_par2 = side.total_par - further * side.loss_left;
        ratio = side.total_par / side.total_seq;
    } while (!(side.cores_par >= 1 && ratio > 0.95 && ratio < 1.35 && shows_itself(&side, cores)));
    return side;
}

static void write_samples(FILE *file, const struct measuring *measuring, const char *variant, uint32_t n,
                          const char *places, double bytes_per_s)
{
    for (int i = 0; i < SAMPLES; i++)
        fprintf(file, "memory_contention,%s,inter_node,67108864,%u,%.17g,1,%s\n", variant, n,
                67108864 / bytes_per_s * (1 + gsl_ran_gaussian(measuring->random, measuring->noise)), places);
}

static void measure_side(FILE *file, const struct measuring *measuring, const struct memory_side *side, uint32_t cores,
                         uint32_t numa)
{
    static struct curve curve;
    char computing[32], message[32], both[32];
    curves_of(side, cores, &curve);
    snprintf(computing, sizeof computing, "%u,", numa);
    snprintf(message, sizeof message, ",%u", numa);
    snprintf(both, sizeof both, "%u,%u", numa, numa);
    write_samples(file, measuring, "message_alone", 0, message, side->message);
    for (uint32_t n = 1; n <= cores; n++) {
        if (measuring->skips_beyond_peak && n > (uint32_t)side->cores_seq + 1 && n < cores)
            continue;
        write_samples(file, measuring, "computation_alone", n, computing, curve.alone[n]);
        write_samples(file, measuring, "computation", n, both, curve.total[n] - curve.message[n]);
        write_samples(file, measuring, "message", n, both, curve.message[n]);
    }
}

/* Measures, writes, reads, fits and reads as the model does. */
static struct memory_model fitted(const struct measuring *measuring, const struct memory_model *model)
{
    char path[] = "/tmp/mpistair-test-XXXXXX";
    struct memory_samples samples;
    struct memory_model found = {.cores = 0};
    struct machine machine = {.name = "made", .source = "a test"};
    struct error error = {.text = ""};
    int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    fprintf(file, "# memory cores %u\n# memory numa_nodes 1\n# memory numa_all 2\n# memory method nic\n", model->cores);
    fprintf(file, "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa\n");
    measure_side(file, measuring, &model->local, model->cores, 0);
    measure_side(file, measuring, &model->remote, model->cores, 1);
    assert_int_equal(fclose(file), 0);
    int result = memory_samples_read_csv(path, &samples, &error);
    unlink(path);
    if (result != 0 || fit_memory(&samples, &machine, NULL, &error) != 0 ||
        memory_model_read(&machine, &found, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < machine.n_parameters; i++)
        if (machine_check_parameter(&machine.parameters[i], &error) != 0)
            fail_msg("%s", error.text);
    memory_samples_release(&samples);
    machine_release(&machine);
    return found;
}

enum { T_PAR, T_SEQ, T_PAR2, ALPHA, ONE_CORE, ONE_MESSAGE, TOTALS, N_ERRORS };
static const char *const error_name[N_ERRORS] = {"T_par", "T_seq", "T_par2", "alpha", "B_comp", "B_comm", "T(n)"};

struct tally {
    size_t platforms, sides, n_losses;
    size_t right, right_par, right_seq, exact_par, exact_seq; /* right: platforms with all four numbers right */
    double errors[N_ERRORS][2 * PLATFORMS];
    double losses[4 * PLATFORMS]; /* errors of those that take 2 % of what a core alone has, or more */
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

static void compare_losses(struct tally *tally, const struct memory_side *truth, const struct memory_side *found)
{
    if (fabs(truth->loss_left) > 0.02 * truth->computation)
        tally->losses[tally->n_losses++] = off(found->loss_left, truth->loss_left);
    if (fabs(truth->loss_right) > 0.02 * truth->computation)
        tally->losses[tally->n_losses++] = off(found->loss_right, truth->loss_right);
}

/* Compares a side; returns whether both numbers of cores are right. */
static bool compare(struct tally *tally, const struct memory_side *truth, const struct memory_side *found,
                    uint32_t cores)
{
    static struct curve curve;
    size_t at = tally->sides++;
    double worst = 0;
    curves_of(truth, cores, &curve);
    uint32_t tie_par = first_of_largest(curve.total, cores, TIE), tie_seq = first_of_largest(curve.alone, cores, TIE);
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
    compare_losses(tally, truth, found);
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
        gsl_sort(tally->errors[i], 1, tally->sides);
        printf("%-7s 95 %% within %.3g %%, all within %.3g %%\n", error_name[i],
               100 * tally->errors[i][tally->sides * 95 / 100 - 1], 100 * tally->errors[i][tally->sides - 1]);
    }
    gsl_sort(tally->losses, 1, tally->n_losses);
    printf("losses of 2 %% of B_comp or more: half within %.3g %% of themselves, 95 %% within %.3g %%\n",
           100 * tally->losses[tally->n_losses / 2], 100 * tally->losses[tally->n_losses * 95 / 100]);
}

/* Measures and fits so many platforms; those of the tally are all errors, sorted. */
static void run(struct measuring *measuring, size_t platforms, struct tally *tally)
{
    gsl_rng *random = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(random, SEED);
    measuring->random = random;
    memset(tally, 0, sizeof *tally);
    for (; tally->platforms < platforms; tally->platforms++) {
        struct memory_model model = {.numa_nodes = 1, .cores = (uint32_t)(14 + gsl_rng_uniform_int(random, 19))};
        model.local = draw_side(random, model.cores);
        model.remote = draw_side(random, model.cores);
        struct memory_model found = fitted(measuring, &model);
        bool local = compare(tally, &model.local, &found.local, model.cores);
        bool remote = compare(tally, &model.remote, &found.remote, model.cores);
        tally->right += local && remote;
    }
    gsl_rng_free(random);
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
    run(&(struct measuring){.noise = NOISE}, PLATFORMS, &tally);
    require(&tally);
}

static void beyond_the_peak_left_out(void **state)
{
    (void)state;
    run(&(struct measuring){.noise = NOISE, .skips_beyond_peak = true}, PLATFORMS / 4, &tally);
    require(&tally);
}

/* With hardly any noise, all is as drawn, losses among it. */
static void quiet_platforms_come_back(void **state)
{
    (void)state;
    run(&(struct measuring){.noise = 1e-5}, PLATFORMS / 4, &tally);
    require(&tally);
    assert_int_equal(tally.exact_par, tally.sides);
    assert_int_equal(tally.exact_seq, tally.sides);
    assert_true(tally.losses[tally.n_losses - 1] < 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(platforms_come_back),
        cmocka_unit_test(beyond_the_peak_left_out),
        cmocka_unit_test(quiet_platforms_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
