/* The two sides are measured alike and fitted alike; a replicate of the samples is fitted as the samples were, and the
 * scatter of the replicates says both how well a point is known and how well a parameter is. */
#include "calibrate/fit/fit_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/bootstrap.h"
#include "calibrate/fit/memory_estimate.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#define MEMORY_SEED 20220210ul /* any; the same samples give the same table */
/* The least relative standard error: samples that are all alike are not known better. */
#define ERROR_LEAST 1e-6

/* Where the points of one number of cores are. */
struct step_at {
    uint32_t n;
    size_t alone, computation, message;
};

/* The points of a side: data of computation and message on one NUMA node. */
struct fit_memory_side {
    enum level level;
    uint32_t numa;
    const struct memory_samples *samples;
    size_t message_alone;
    struct step_at *at; /* [n_steps] by n */
    size_t n_steps;
    struct memory_step *steps; /* [n_steps] */
    double values[MEMORY_PARAMETER_COUNT];
    double *replicates; /* [MEMORY_PARAMETER_COUNT][BOOTSTRAP_REPLICATES] */
    struct line_value losses[2];
};

/* The points of all samples as drawn again and again. */
struct replicates {
    size_t n_points, n_launches;
    double *drawn; /* [BOOTSTRAP_REPLICATES][n_points] */
    double *error; /* [n_points] standard error of each median */
};

static struct memory_place place_of(const struct fit_memory_side *side, enum memory_variant variant, uint32_t n)
{
    struct memory_place place = {variant, side->numa, side->numa, n};
    if (variant == MEMORY_MESSAGE_ALONE)
        place.computing_numa = MEMORY_NO_DATA;
    if (variant == MEMORY_COMPUTATION_ALONE)
        place.message_numa = MEMORY_NO_DATA;
    return place;
}

/* Finds a point; returns whether it was measured. */
static bool fit_memory_find(const struct fit_memory_side *side, enum memory_variant variant, uint32_t n, size_t *at)
{
    const struct memory_place place = place_of(side, variant, n);
    const struct memory_point *point = memory_samples_find(side->samples, &place);
    if (point != NULL)
        *at = (size_t)(point - side->samples->points);
    return point != NULL;
}

static int lacks(const struct fit_memory_side *side, enum memory_variant variant, uint32_t n, const char *expected,
                 struct error *error)
{
    return error_set(error, "no samples of %s with n = %u and data on NUMA node %u; expected %s: calibrate again",
                     memory_variant_name[variant], n, side->numa, expected);
}

/* Takes the points with n cores, if there are any. */
static int gather_step(struct fit_memory_side *side, uint32_t n, struct error *error)
{
    static const enum memory_variant variants[] = {MEMORY_COMPUTATION_ALONE, MEMORY_COMPUTATION, MEMORY_MESSAGE};
    struct step_at at = {.n = n};
    size_t *points[] = {&at.alone, &at.computation, &at.message};
    enum memory_variant missing = MEMORY_VARIANT_COUNT;
    int found = 0;
    for (int i = 0; i < 3; i++) {
        if (fit_memory_find(side, variants[i], n, points[i]))
            found++;
        else
            missing = variants[i];
    }
    if (found == 0)
        return 0;
    if (found < 3)
        return lacks(side, missing, n, "computation_alone, computation and message of each number of cores", error);
    array_grow(&side->at, side->n_steps, sizeof *side->at);
    side->at[side->n_steps++] = at;
    return 0;
}

/* Collects a side's points. Returns 1, 0 where nothing of it was measured, or -1 with what is missing. */
static int gather(struct fit_memory_side *side, struct error *error)
{
    bool has_message = fit_memory_find(side, MEMORY_MESSAGE_ALONE, 0, &side->message_alone);
    for (uint32_t n = 1; n <= side->samples->cores; n++)
        if (gather_step(side, n, error) != 0)
            return -1;
    if (!has_message && side->n_steps == 0)
        return 0;
    if (!has_message)
        return lacks(side, MEMORY_MESSAGE_ALONE, 0, "the bandwidth of a message alone", error);
    if (side->n_steps == 0 || side->at[0].n != 1)
        return lacks(side, MEMORY_COMPUTATION_ALONE, 1, "every number of cores from 1 to the peak", error);
    side->steps = xcalloc(side->n_steps, sizeof *side->steps);
    side->replicates = xcalloc((size_t)MEMORY_PARAMETER_COUNT * BOOTSTRAP_REPLICATES, sizeof *side->replicates);
    return 1;
}

/* Draws all replicates. What the bootstrap draws are a sample's seconds: here these are B/s. */
static struct replicates fit_memory_draw(const struct memory_samples *all)
{
    size_t n_points = all->n_points;
    struct samples samples = {.samples = xcalloc(all->n_samples, sizeof *samples.samples), .n_samples = all->n_samples};
    struct curve curve = {.n_points = n_points,
                          .first = xcalloc(n_points, sizeof *curve.first),
                          .n_samples = xcalloc(n_points, sizeof *curve.n_samples)};
    struct replicates replicates = {.n_points = n_points,
                                    .drawn = xcalloc(n_points * BOOTSTRAP_REPLICATES, sizeof *replicates.drawn),
                                    .error = xcalloc(n_points, sizeof *replicates.error)};
    struct resampling resampling;
    for (size_t i = 0; i < all->n_samples; i++)
        samples.samples[i] = (struct sample){.seconds = all->samples[i].bytes_per_s, .launch = all->samples[i].launch};
    for (size_t i = 0; i < n_points; i++) {
        curve.first[i] = all->points[i].first;
        curve.n_samples[i] = all->points[i].n_samples;
    }
    resampling_init(&resampling, &samples, &(struct curves){&curve, 1}, STATISTIC_MEDIAN, MEMORY_SEED);
    for (size_t k = 0; k < BOOTSTRAP_REPLICATES; k++) {
        resampling_next(&resampling);
        memcpy(&replicates.drawn[k * n_points], resampling.curves.curves[0].seconds,
               n_points * sizeof *replicates.drawn);
    }
    replicates.n_launches = resampling.n_launches;
    resampling_release(&resampling);
    free(samples.samples);
    free(curve.first);
    free(curve.n_samples);
    return replicates;
}

/* Finds the standard errors of the medians. That of few samples is badly known itself, so each is at least the median
 * of those of its variant, relative to the bandwidth. */
static void find_errors(const struct memory_samples *samples, struct replicates *replicates)
{
    double *relative = xcalloc(samples->n_points, sizeof *relative);
    for (size_t first = 0, end; first < samples->n_points; first = end) {
        size_t count = 0;
        for (end = first;
             end < samples->n_points && samples->points[end].place.variant == samples->points[first].place.variant;
             end++) {
            double drawn[BOOTSTRAP_REPLICATES];
            for (size_t i = 0; i < BOOTSTRAP_REPLICATES; i++)
                drawn[i] = replicates->drawn[i * replicates->n_points + end];
            double deviation = sqrt(variance_of(drawn, BOOTSTRAP_REPLICATES));
            relative[count++] = replicates->error[end] = deviation / samples->points[end].bytes_per_s;
        }
        double usual = fmax(samples_reduce(relative, count, STATISTIC_MEDIAN), ERROR_LEAST);
        for (size_t i = first; i < end; i++)
            replicates->error[i] = fmax(replicates->error[i], usual) * samples->points[i].bytes_per_s;
    }
    free(relative);
}

/* Estimates a side's parameters from bandwidths of all points. */
static void estimate(struct fit_memory_side *side, const struct replicates *replicates, const double *bytes_per_s,
                     double values[MEMORY_PARAMETER_COUNT])
{
    const double *error = replicates->error;
    for (size_t i = 0; i < side->n_steps; i++) {
        const struct step_at *at = &side->at[i];
        side->steps[i] = (struct memory_step){
            .n = at->n,
            .alone = bytes_per_s[at->alone],
            .alone_error = error[at->alone],
            .computation = bytes_per_s[at->computation],
            .computation_error = error[at->computation],
            .message = bytes_per_s[at->message],
            .message_error = error[at->message],
        };
    }
    memory_estimate(side->steps, side->n_steps, bytes_per_s[side->message_alone], values);
}

/* Estimates a side and its replicates. */
static void estimate_all(struct fit_memory_side *side, const struct replicates *replicates)
{
    double again[MEMORY_PARAMETER_COUNT];
    size_t n_points = replicates->n_points;
    double *medians = xcalloc(n_points, sizeof *medians);
    for (size_t i = 0; i < n_points; i++)
        medians[i] = side->samples->points[i].bytes_per_s;
    estimate(side, replicates, medians, side->values);
    for (size_t k = 0; k < BOOTSTRAP_REPLICATES; k++) {
        estimate(side, replicates, &replicates->drawn[k * n_points], again);
        for (int i = 0; i < MEMORY_PARAMETER_COUNT; i++)
            side->replicates[(size_t)i * BOOTSTRAP_REPLICATES + k] = again[i];
    }
    free(medians);
}

/* Refuses numbers of cores that were left out below a peak, where the peak itself may be. */
static int check_gaps(const struct fit_memory_side *side, struct error *error)
{
    double peak = fmax(side->values[MEMORY_CORES_PAR], side->values[MEMORY_CORES_SEQ]);
    char expected[80];
    snprintf(expected, sizeof expected, "every number of cores from 1 to the peak at n = %.0f", peak);
    for (size_t i = 1; i < side->n_steps && side->at[i].n <= peak; i++)
        if (side->at[i].n != side->at[i - 1].n + 1)
            return lacks(side, MEMORY_COMPUTATION_ALONE, side->at[i - 1].n + 1, expected, error);
    return 0;
}

/* Returns the fewest samples of a point that a parameter is read from. */
static size_t fewest_samples(const struct fit_memory_side *side, int parameter)
{
    const struct memory_point *points = side->samples->points;
    size_t fewest = points[side->message_alone].n_samples;
    if (parameter == MEMORY_ONE_MESSAGE)
        return fewest;
    if (parameter == MEMORY_ONE_CORE)
        return points[side->at[0].alone].n_samples;
    bool alone = parameter == MEMORY_CORES_SEQ || parameter == MEMORY_TOTAL_SEQ;
    for (size_t i = 0; i < side->n_steps; i++) {
        const struct step_at *at = &side->at[i];
        size_t n = alone ? points[at->alone].n_samples : points[at->message].n_samples;
        if (!alone && points[at->computation].n_samples < n)
            n = points[at->computation].n_samples;
        fewest = i == 0 || n < fewest ? n : fewest;
    }
    return fewest;
}

/* Notes what is known of a loss, [0] left and [1] right of N_seq: a small one may be anything within its interval. */
static void say_loss(const struct fit_memory_side *side, int which, FILE *remarks)
{
    int parameter = which == 0 ? MEMORY_LOSS_LEFT : MEMORY_LOSS_RIGHT;
    const struct line_value *loss = &side->losses[which];
    double begin = side->values[which == 0 ? MEMORY_CORES_PAR : MEMORY_CORES_SEQ];
    double end = which == 0 ? side->values[MEMORY_CORES_SEQ] : side->at[side->n_steps - 1].n;
    char interval[80] = "one sample bounds it in no interval";
    if (!(end > begin))
        return;
    if (isfinite(loss->low) && isfinite(loss->high))
        snprintf(interval, sizeof interval, "in 95 %% %.4g to %.4g%s", loss->low * 1e-6, loss->high * 1e-6,
                 loss->low <= 0 && loss->high >= 0 ? ", maybe none" : "");
    fit_note(remarks, "%s: from n = %.0f to %.0f, a core more takes %.4g MB/s of both together (%s): %s",
             level_text(side->level), begin, end, loss->value * 1e-6, memory_quantities[parameter].name, interval);
}

static void append_rows(struct fit_memory_side *side, size_t n_launches, struct machine *machine)
{
    double factor = interval_few_launches(n_launches);
    for (int i = 0; i < MEMORY_PARAMETER_COUNT; i++) {
        size_t n_samples = fewest_samples(side, i);
        struct line_value value = {side->values[i], NAN, NAN};
        if (n_samples > 1)
            interval_of_replicates(&value, &side->replicates[(size_t)i * BOOTSTRAP_REPLICATES], BOOTSTRAP_REPLICATES,
                                   factor);
        if (i == MEMORY_ALPHA)
            value.high = fmin(value.high, 1);
        if (i == MEMORY_CORES_PAR || i == MEMORY_CORES_SEQ) { /* there are whole cores only */
            value.low = fmax(floor(value.low), 1);
            value.high = fmin(ceil(value.high), side->at[side->n_steps - 1].n);
        }
        fit_row(machine, side->level, PROTOCOL_ANY, memory_quantities[i].name, MACHINE_NO_N, value, n_samples,
                side->samples->cpu_copy ? "cpu-copy" : "memory");
        if (i == MEMORY_LOSS_LEFT || i == MEMORY_LOSS_RIGHT)
            side->losses[i - MEMORY_LOSS_LEFT] = value;
    }
}

/* Notes what a side's samples do not show. */
static void remark_on(const struct fit_memory_side *side, FILE *remarks)
{
    uint32_t last = side->at[side->n_steps - 1].n, cores = side->samples->cores;
    const char *name = level_text(side->level);
    if (last + 1 < cores)
        fit_note(remarks, "%s: measured up to n = %u, of %u cores: what more cores lose is not known", name, last,
                 cores);
    if (side->values[MEMORY_CORES_SEQ] < side->values[MEMORY_CORES_PAR])
        fit_note(remarks,
                 "%s: computation alone is fastest with n = %.0f, with a message besides not before n = %.0f: "
                 "memory_loss_left serves no n",
                 name, side->values[MEMORY_CORES_SEQ], side->values[MEMORY_CORES_PAR]);
}

/* Fits one side. Returns 1, 0 where it was not measured, or -1 with the reason. */
static int fit_side(struct fit_memory_side *side, const struct replicates *replicates, struct machine *machine,
                    FILE *remarks, struct error *error)
{
    int found = gather(side, error);
    if (found <= 0)
        return found;
    estimate_all(side, replicates);
    if (check_gaps(side, error) != 0)
        return -1;
    append_rows(side, replicates->n_launches, machine);
    remark_on(side, remarks);
    return 1;
}

static void append_count(struct machine *machine, const char *quantity, uint32_t count)
{
    fit_row(machine, LEVEL_COUNT, PROTOCOL_ANY, quantity, MACHINE_NO_N, (struct line_value){count, NAN, NAN}, 0, "");
}

int fit_memory(const struct memory_samples *samples, struct machine *machine, FILE *remarks, struct error *error)
{
    struct fit_memory_side sides[] = {{.level = LEVEL_INTRA_SOCKET, .numa = 0, .samples = samples},
                                      {.level = LEVEL_INTER_SOCKET, .numa = samples->numa_nodes, .samples = samples}};
    struct replicates replicates = fit_memory_draw(samples);
    int found[2] = {0, 0}, result = 0;
    find_errors(samples, &replicates);
    for (int i = 0; i < 2 && result == 0; i++) {
        found[i] = fit_side(&sides[i], &replicates, machine, remarks, error);
        result = found[i] < 0 ? -1 : 0;
    }
    if (result == 0 && found[0] + found[1] == 0)
        result = error_set(error,
                           "no samples with the data of computation and message both on NUMA node 0, or both "
                           "on %u",
                           samples->numa_nodes);
    for (int i = 0; i < 2 && result == 0; i++)
        if (found[i] == 0)
            fit_note(remarks, "%s: left out: no samples with data on NUMA node %u%s", level_text(sides[i].level),
                     sides[i].numa, samples->numa_all > samples->numa_nodes ? "" : ", which is not there");
    if (result == 0) {
        append_count(machine, "numa_nodes", samples->numa_nodes);
        append_count(machine, "cores", samples->cores);
    }
    for (int i = 0; i < 2 && result == 0; i++)
        for (int which = 0; which < 2 && found[i] > 0; which++)
            say_loss(&sides[i], which, remarks);
    for (int i = 0; i < 2; i++) {
        free(sides[i].at);
        free(sides[i].steps);
        free(sides[i].replicates);
    }
    free(replicates.drawn);
    free(replicates.error);
    return result;
}
