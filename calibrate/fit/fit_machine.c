/* Brings the parts of a fit together in the order of a table's rows: thresholds and lines of each level, then what
 * every other benchmark gives, then what pairs of a socket share, and the drift.
 *
 * What pairs of a socket share: tau_l3, bw_l3, tau_numa, bw_numa, tau_package, bw_package (n = 1) of intra_socket. If
 * the benchmarks measured pairs of two domains or more (machine.h: enum domain), the samples of each domain alone are
 * fitted as the whole level was, with the level's thresholds. The latency and the bandwidth of a single message are
 * kept of the result, for each protocol. The level's own rows come from all domains together (samples_combine). */
#include "calibrate/fit/fit_machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/drift.h"
#include "calibrate/fit/thresholds.h"
#include "calibrate/fit/fits.h"
#include "calibrate/fit/bootstrap.h"
#include "share/base/memory.h"

/* Estimates the parameters of one level from its curves: a line for each curve and protocol, and the rows that follow
 * from the lines.
 *
 * fit_machine.h says which line gives which row. Three things that a line's own points do not show well come from its
 * neighbours, with relative weights only (ordinary least squares reproduce published tables):
 *   - Below rendezvous times hardly grow, and a slope of few sizes is known to 20 % where its machine is known to 2. So
 *     N processes are taken to be slower by one factor at all sizes: slope over time is then the same for all N
 *     (Hockney's half-performance length). The slope of short messages is taken to be that of eager ones, as far as the
 *     points do not say otherwise (pool_share; `-shared` where most of the slope comes from there).
 *   - A line of few points takes the variance of all points of its curve for its intervals.
 *   - The latency of a protocol is not below that of the protocol of smaller messages: whatever the sender does before,
 *     the last byte crosses the same wires, and a rendezvous needs a round trip more (H Table III has them rising at
 *     every level). A shaped network lets a burst of bytes pass unshaped, so the lines behind it would begin below 0:
 *     the intercept is then that of the protocol before (`-floor`).
 * Papers are named as in share/doc/MODELS.md.
 *
 * Lines through few points are uncertain, but they are not independent: what neighbouring lines show enters each fit as
 * a hint, in a fixed order of passes. */

struct estimate {
    enum machine_protocol protocol;
    uint64_t n;              /* processes that share the bandwidth; MACHINE_NO_N: the latency */
    struct line_value value; /* s; of a bandwidth the slope, s/B of one process */
    enum line_kind kind;
    size_t samples;
};

/* What was fitted of one level. */
struct level_estimates {
    struct fit_thresholds thresholds; /* with which it was; n = 0: nothing was measured */
    struct estimate *estimates;       /* [n_estimates] by protocol; for each the latency first, then by n */
    size_t n_estimates;
};

#define ESTIMATE_SEED 20230725ul /* any; the same samples give the same table */

/* A curve of the level within one protocol. */
struct n_line {
    const struct curve *curve;
    size_t first, end; /* points */
    bool fits;
    bool shares; /* takes part in sharing slopes */
    struct line line;
    struct line_hint hint;
    size_t samples;
};

struct level_fit {
    const struct fit_thresholds *thresholds;
    const struct fit_options *options;
    size_t n_curves;
    struct n_line *lines; /* [thresholds->n][n_curves] */
};

static struct n_line *lines_of(const struct level_fit *level, int part)
{
    return &level->lines[(size_t)part * level->n_curves];
}

static int estimate_fit_line(struct n_line *line, enum line_method method, const struct line_hint *hint)
{
    return line_fit(&line->curve->bytes[line->first], &line->curve->seconds[line->first], line->end - line->first,
                    method, hint, &line->line);
}

static void level_init(struct level_fit *level, const struct curves *curves, enum level name)
{
    size_t n_parts = (size_t)level->thresholds->n;
    level->lines = xcalloc(n_parts * curves->n_curves, sizeof *level->lines);
    for (size_t i = 0; i < curves->n_curves; i++)
        level->n_curves += curves->curves[i].level == name;
    for (size_t i = 0, index = 0; i < curves->n_curves; i++) {
        const struct curve *curve = &curves->curves[i];
        for (size_t part = 0; part < n_parts && curve->level == name; part++) {
            struct n_line *line = &lines_of(level, (int)part)[index];
            line->curve = curve;
            curve_range(curve, level->thresholds->bytes[part],
                        part + 1 < n_parts ? level->thresholds->bytes[part + 1] : INFINITY, &line->first, &line->end);
            for (size_t point = line->first; point < line->end; point++)
                line->samples += curve->n_samples[point];
            line->fits = estimate_fit_line(line, level->options->method, NULL) == 0;
        }
        index += curve->level == name;
    }
}

static void say_left_out(const struct level_fit *level, enum level name, FILE *notes)
{
    for (int part = 0; part < level->thresholds->n; part++)
        for (size_t i = 0; i < level->n_curves && notes != NULL; i++) {
            const struct n_line *line = &lines_of(level, part)[i];
            if (!line->fits)
                fprintf(notes, "%s %s: n = %llu left out: %s\n", level_name[name],
                        machine_protocol_name[level->thresholds->protocol[part]], (unsigned long long)line->curve->n,
                        line->end - line->first < 2 ? "fewer than two sizes measured" : "its times allow no line");
        }
}

static bool below_rendezvous(const struct level_fit *level, int part)
{
    enum machine_protocol protocol =
        part < level->thresholds->n ? level->thresholds->protocol[part] : PROTOCOL_RENDEZVOUS;
    return protocol == PROTOCOL_SHORT || protocol == PROTOCOL_EAGER;
}

/* Gives every line of a curve the scatter of the points of the whole curve. */
static void share_scatter(const struct level_fit *level, size_t curve)
{
    double sum_of_squares = 0;
    size_t degrees = 0;
    for (int part = 0; part < level->thresholds->n; part++) {
        const struct n_line *line = &lines_of(level, part)[curve];
        sum_of_squares += line->fits ? line->line.sum_of_squares : 0;
        degrees += line->fits ? line->line.degrees : 0;
    }
    for (int part = 0; part < level->thresholds->n; part++) {
        struct n_line *line = &lines_of(level, part)[curve];
        line->hint.degrees = degrees;
        line->hint.variance = degrees > 0 ? sum_of_squares / (double)degrees : 0;
        if (line->fits)
            (void)estimate_fit_line(line, LINE_RELATIVE, &line->hint);
    }
}

/* Accepts a line that takes part in sharing slopes: it has the same sizes as the first one. */
static bool comparable(const struct n_line *line, const struct n_line *first)
{
    return line->fits && line->line.slope_error > 0 &&
           (first == NULL || (line->end - line->first == first->end - first->first &&
                              line->curve->bytes[line->first] <= first->curve->bytes[first->first] &&
                              line->curve->bytes[line->first] >= first->curve->bytes[first->first]));
}

/* Adds to the hint the slope to be expected, and how much of it is to be taken, next to what is there already. */
static void add_hint(struct line_hint *hint, double slope, double share)
{
    double before = hint->slope_share * (1 - share), both = before + share;
    if (both > 0)
        hint->slope = (before * hint->slope + share * slope) / both;
    hint->slope_share = both;
}

/* Shares slopes, as far as the points do not say otherwise: with the next protocol, or (next NULL) slopes over times
 * among the curves. These are alike for all N of a protocol where N processes are slower by a factor, at every size. */
static void share_slopes(const struct level_fit *level, int part, const struct n_line *next, struct pool_value *values,
                         double *expected)
{
    struct n_line *lines = lines_of(level, part);
    const struct n_line *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < level->n_curves; i++) {
        const struct line *line = &lines[i].line;
        lines[i].shares =
            comparable(&lines[i], first) && (next == NULL || (next[i].fits && next[i].line.kind != LINE_FLAT));
        if (!lines[i].shares)
            continue;
        if (next == NULL && first == NULL)
            first = &lines[i];
        double scale = next != NULL ? 1 : line->mean_y;
        expected[n] = next != NULL ? next[i].line.slope.value : 0;
        values[n++] = (struct pool_value){line->free_slope / scale, line->slope_error / scale};
    }
    double mean = next == NULL && n > 0 ? pool_mean(values, n) : 0;
    for (size_t i = 0; i < n && next == NULL; i++)
        expected[i] = mean;
    double share = next != NULL || mean > 0 ? pool_share(values, expected, n, next != NULL ? n : n - 1) : 0;
    for (size_t i = 0; i < level->n_curves; i++)
        if (lines[i].shares)
            add_hint(&lines[i].hint, next != NULL ? next[i].line.slope.value : mean * lines[i].line.mean_y, share);
}

static void set_floors(const struct level_fit *level, size_t curve)
{
    struct line_value floor = {0, 0, 0};
    for (int part = 0; part < level->thresholds->n; part++) {
        struct n_line *line = &lines_of(level, part)[curve];
        line->hint.floor = floor;
        if (line->fits && line->line.intercept.value < floor.value)
            (void)estimate_fit_line(line, LINE_RELATIVE, &line->hint);
        if (line->fits && line->line.intercept.value >= floor.value)
            floor = line->line.intercept;
    }
}

/* Fits all lines again with what they know of each other: the scatter, then the slopes from the larger messages to the
 * smaller ones, then, upwards, the floors. */
static void refine(const struct level_fit *level)
{
    struct pool_value *values = xcalloc(level->n_curves, sizeof *values);
    double *expected = xcalloc(level->n_curves, sizeof *expected);
    for (size_t i = 0; i < level->n_curves; i++)
        share_scatter(level, i);
    for (int part = level->thresholds->n - 1; part >= 0; part--) {
        if (!below_rendezvous(level, part))
            continue;
        share_slopes(level, part, NULL, values, expected);
        if (below_rendezvous(level, part + 1))
            share_slopes(level, part, lines_of(level, part + 1), values, expected);
        for (size_t i = 0; i < level->n_curves; i++)
            if (lines_of(level, part)[i].fits)
                (void)estimate_fit_line(&lines_of(level, part)[i], LINE_RELATIVE, &lines_of(level, part)[i].hint);
    }
    for (size_t i = 0; i < level->n_curves; i++)
        set_floors(level, i);
    free(values);
    free(expected);
}

static bool large_messages(enum machine_protocol protocol)
{
    return protocol == PROTOCOL_RENDEZVOUS || protocol == PROTOCOL_ANY;
}

static const struct n_line *line_find(const struct level_fit *level, int part, uint64_t n, enum benchmark preferred)
{
    const struct n_line *found = NULL;
    for (size_t i = 0; i < level->n_curves; i++) {
        const struct n_line *line = &lines_of(level, part)[i];
        if (line->fits && line->curve->n == n && (found == NULL || line->curve->benchmark == preferred))
            found = line;
    }
    return found;
}

/* Returns whether the points show an intercept: to 50 %, or as well as two points do. */
static bool shows_latency(const struct n_line *line)
{
    const struct line_value *tau = &line->line.intercept;
    return line->line.kind == LINE_PLAIN && !(tau->high - tau->low > tau->value);
}

static const struct n_line *line_of_tau(const struct level_fit *level, int part)
{
    bool large = large_messages(level->thresholds->protocol[part]);
    const struct n_line *single = line_find(level, part, 1, BENCHMARK_PINGPONG);
    const struct n_line *two = line_find(level, part, 2, BENCHMARK_ALGORITHM1);
    if (single == NULL && two == NULL) {
        for (size_t i = 0; i < level->n_curves; i++)
            if (lines_of(level, part)[i].fits)
                return &lines_of(level, part)[i];
        return NULL;
    }
    if (single == NULL || two == NULL)
        return single != NULL ? single : two;
    bool pingpong_is_better = level->options->method == LINE_RELATIVE &&
                              single->curve->benchmark == BENCHMARK_PINGPONG && !shows_latency(two) &&
                              (shows_latency(single) || single->line.kind == LINE_FLOOR);
    return large && !pingpong_is_better ? two : single;
}

static void estimate_append(struct level_estimates *estimates, const struct level_fit *level, int part, uint64_t n,
                            const struct n_line *line)
{
    estimates->estimates[estimates->n_estimates++] = (struct estimate){
        .protocol = level->thresholds->protocol[part],
        .n = n,
        .value = n == MACHINE_NO_N ? line->line.intercept : line->line.slope,
        .kind = line->line.kind,
        .samples = line->samples,
    };
}

/* Appends the latency of the part, not below floor, which it replaces. */
static void append_tau(struct level_estimates *estimates, const struct level_fit *level, int part,
                       struct line_value *floor)
{
    estimate_append(estimates, level, part, MACHINE_NO_N, line_of_tau(level, part));
    struct estimate *tau = &estimates->estimates[estimates->n_estimates - 1];
    if (level->options->method == LINE_RELATIVE && line_value_raise(&tau->value, floor))
        tau->kind = LINE_FLOOR;
    *floor = tau->value;
}

static void estimate_collect(const struct level_fit *level, struct level_estimates *estimates)
{
    struct line_value floor = {0, 0, 0};
    for (int part = 0; part < level->thresholds->n; part++) {
        uint64_t last_n = 0;
        bool large = large_messages(level->thresholds->protocol[part]);
        if (line_of_tau(level, part) == NULL)
            continue;
        append_tau(estimates, level, part, &floor);
        for (size_t i = 0; i < level->n_curves; i++) { /* in the order of n */
            const struct n_line *line = &lines_of(level, part)[i];
            if (!line->fits || line->curve->n == last_n)
                continue;
            last_n = line->curve->n;
            estimate_append(estimates, level, part, last_n,
                            line_find(level, part, last_n, large ? BENCHMARK_ALGORITHM1 : BENCHMARK_PINGPONG));
        }
    }
}

/* Estimates the rows. Which rows there are depends on the sizes that were measured, and on which lines their times
 * allow: with other times, as in a resampling, there may be others. What cannot be fitted is said on notes (may be
 * NULL). */
static struct level_estimates estimate_level(const struct curves *curves, enum level name,
                                             const struct fit_thresholds *thresholds, const struct fit_options *options,
                                             FILE *notes)
{
    struct level_fit level = {.thresholds = thresholds, .options = options};
    size_t most = (size_t)thresholds->n * (curves->n_curves + 1);
    struct level_estimates estimates = {.thresholds = *thresholds,
                                        .estimates = xcalloc(most, sizeof *estimates.estimates)};
    level_init(&level, curves, name);
    say_left_out(&level, name, notes);
    if (options->method == LINE_RELATIVE)
        refine(&level);
    estimate_collect(&level, &estimates);
    free(level.lines);
    return estimates;
}

/* Takes the values of a level in one replicate: values[i * stride] for its i-th estimate. Other times may allow a line
 * where those measured allow none, or none where they do: an estimate that a replicate lacks keeps its own value there.
 * Both are in the same order. */
static void take_values(const struct level_estimates *estimates, const struct level_estimates *again, double *values,
                        size_t stride)
{
    for (size_t i = 0, next = 0; i < estimates->n_estimates; i++, values += stride) {
        const struct estimate *wanted = &estimates->estimates[i];
        size_t k = next;
        while (k < again->n_estimates &&
               (again->estimates[k].protocol != wanted->protocol || again->estimates[k].n != wanted->n))
            k++;
        bool found = k < again->n_estimates;
        *values = found ? again->estimates[k].value.value : wanted->value.value;
        next = found ? k + 1 : next;
    }
}

/* Widens the intervals of all levels' estimates by the bootstrap. */
static void estimates_widen(struct level_estimates levels[LEVEL_COUNT], const struct samples *samples,
                            const struct curves *curves, const struct fit_options *options)
{
    struct resampling resampling;
    size_t n_replicates = bootstrap_replicates(options), n_values = 0;
    for (int level = 0; level < LEVEL_COUNT; level++)
        n_values += levels[level].n_estimates;
    double *values = xcalloc(n_values * n_replicates, sizeof *values), *row;
    resampling_init(&resampling, samples, curves, options->statistic, ESTIMATE_SEED);
    for (size_t i = 0; i < n_replicates; i++) {
        resampling_next(&resampling);
        row = &values[i];
        for (int level = 0; level < LEVEL_COUNT; level++) {
            if (levels[level].n_estimates == 0)
                continue;
            struct level_estimates again =
                estimate_level(&resampling.curves, (enum level)level, &levels[level].thresholds, options, NULL);
            take_values(&levels[level], &again, row, n_replicates);
            row += levels[level].n_estimates * n_replicates;
            free(again.estimates);
        }
    }
    double factor = interval_few_launches(resampling.n_launches);
    row = values;
    for (int level = 0; level < LEVEL_COUNT; level++)
        for (size_t i = 0; i < levels[level].n_estimates; i++, row += n_replicates)
            interval_widen(&levels[level].estimates[i].value, row, n_replicates, factor);
    resampling_release(&resampling);
    free(values);
}

/* Size at which pairs that share different things are compared. */
#define SIZE_COMPARED 1048576u

static void append_estimate(const struct fit *fit, enum level level, const struct estimate *estimate)
{
    char method[24];
    fit_method(fit->options, estimate->kind, method);
    if (estimate->n == MACHINE_NO_N) {
        fit_row(fit->machine, level, estimate->protocol, "tau", MACHINE_NO_N, estimate->value, estimate->samples,
                method);
        return;
    }
    if (estimate->kind == LINE_FLAT)
        fit_note(fit->notes, "%s %s: n = %llu: the time does not grow with the size; bw is a lower bound",
                 level_name[level], machine_protocol_name[estimate->protocol], (unsigned long long)estimate->n);
    fit_row(fit->machine, level, estimate->protocol, "bw", estimate->n, fit_rate(estimate->n, &estimate->value),
            estimate->samples, method);
}

/* Appends the rows of one level. */
static void append_level(const struct fit *fit, enum level level, const struct level_estimates *fitted)
{
    const struct fit_thresholds *thresholds = &fitted->thresholds;
    bool any = false;
    for (int part = 0; part < thresholds->n; part++) {
        enum machine_protocol protocol = thresholds->protocol[part];
        int added = 0;
        for (size_t i = 0; i < fitted->n_estimates; i++) {
            if (fitted->estimates[i].protocol != protocol)
                continue;
            append_estimate(fit, level, &fitted->estimates[i]);
            added++;
        }
        if (added == 0)
            fit_note(fit->notes, "%s %s: left out: no N has two sizes from %.0f B", level_name[level],
                     machine_protocol_name[protocol], thresholds->bytes[part]);
        /* The first protocol that could be fitted serves all smaller sizes too: its threshold is 0. */
        struct line_value threshold = {any ? thresholds->bytes[part] : 0, NAN, NAN};
        bool probed = any && part == thresholds->n - 1 && thresholds->n_samples > 0;
        if (probed)
            threshold = (struct line_value){thresholds->bytes[part], thresholds->low, thresholds->high};
        if (added > 0 && protocol != PROTOCOL_ANY && protocol != PROTOCOL_SHORT)
            fit_row(fit->machine, level, protocol, "threshold", MACHINE_NO_N, threshold,
                    probed ? thresholds->n_samples : 0, thresholds->origin[part]);
        any = any || added > 0;
    }
}

/* Fits the lines of ping-pong and Algorithm 1. Returns 0, or -1 with the reason in error. */
static int fit_curves(const struct fit *fit, struct error *error)
{
    struct curves curves = curves_make(fit->samples, fit->options->statistic);
    struct fit_thresholds thresholds[LEVEL_COUNT];
    struct level_estimates levels[LEVEL_COUNT] = {{{.n = 0}, NULL, 0}};
    int result = fit_thresholds_find(fit->samples, &curves, fit->options, thresholds, fit->notes, error);
    if (result == 0) {
        for (size_t i = 0; i < curves.n_curves; i++) {
            enum level level = curves.curves[i].level;
            if (levels[level].thresholds.n == 0)
                levels[level] = estimate_level(&curves, level, &thresholds[level], fit->options, fit->notes);
        }
        estimates_widen(levels, fit->samples, &curves, fit->options);
        for (int level = 0; level < LEVEL_COUNT; level++) {
            append_level(fit, (enum level)level, &levels[level]);
            free(levels[level].estimates);
        }
    }
    curves_release(&curves);
    return result;
}

static void note_disturbed(const struct samples *samples, FILE *notes)
{
    for (int i = 0; i < BENCHMARK_COUNT; i++)
        if (samples->disturbance[i].n_never_quiet > 0)
            fit_note(notes, "%s: %zu of %zu measurements were taken only while others had the processors",
                     benchmark_name[i], samples->disturbance[i].n_never_quiet, samples->disturbance[i].n_points);
}

/* Selects the samples of one domain, as if there were no others. */
static struct samples select_domain(const struct samples *samples, enum domain domain)
{
    struct samples selected = {.n_samples = 0};
    for (size_t i = 0; i < samples->n_samples; i++) {
        struct sample sample = samples->samples[i];
        if (sample.level != LEVEL_INTRA_SOCKET || sample.domain != domain)
            continue;
        sample.domain = DOMAIN_NONE;
        samples_append(&selected, &sample);
    }
    samples_sort(&selected);
    return selected;
}

/* Finds the protocols with which the level was fitted; returns whether there are any. */
static bool level_thresholds(const struct machine *machine, struct fit_thresholds *thresholds)
{
    struct machine_protocols protocols;
    if (machine_protocols(machine, LEVEL_INTRA_SOCKET, &protocols, NULL) != 0 || protocols.n > SEGMENT_MAX)
        return false;
    *thresholds = (struct fit_thresholds){.n = (int)protocols.n};
    for (size_t i = 0; i < protocols.n; i++) {
        thresholds->bytes[i] = (double)protocols.from_bytes[i];
        thresholds->protocol[i] = protocols.protocol[i];
        thresholds->origin[i] = "given";
    }
    return true;
}

/* Appends tau as tau_l3, bw of a single message as bw_l3; the other rows are of the level, not of the domain. */
static void append_domain(const struct machine *fitted, enum domain domain, struct machine *machine)
{
    for (size_t i = 0; i < fitted->n_parameters; i++) {
        struct machine_parameter row = fitted->parameters[i];
        if (strcmp(row.quantity, "tau") != 0 && (strcmp(row.quantity, "bw") != 0 || row.n != 1))
            continue;
        size_t length = strlen(row.quantity);
        snprintf(row.quantity + length, sizeof row.quantity - length, "_%s", domain_name[domain]);
        machine_append(machine, &row);
    }
}

/* Returns the seconds of a message by the fitted rows, within the interval of the bandwidth; 0 where they do not tell.
 */
static struct line_value message_s(const struct machine *fitted, uint64_t bytes)
{
    struct machine_protocols protocols;
    if (machine_protocols(fitted, LEVEL_INTRA_SOCKET, &protocols, NULL) != 0)
        return (struct line_value){0, NAN, NAN};
    enum machine_protocol protocol = machine_protocol_of(&protocols, bytes);
    const struct machine_parameter *tau = machine_row(fitted, LEVEL_INTRA_SOCKET, protocol, "tau", MACHINE_NO_N),
                                   *bw = machine_row(fitted, LEVEL_INTRA_SOCKET, protocol, "bw", 1);
    if (tau == NULL || bw == NULL)
        return (struct line_value){0, NAN, NAN};
    double size = (double)bytes;
    return (struct line_value){.value = tau->value + size / bw->value,
                               .low = isnan(bw->ci_high) ? tau->value : tau->value + size / bw->ci_high,
                               .high = bw->ci_low > 0 ? tau->value + size / bw->ci_low : INFINITY};
}

/* Notes how much the fastest and the slowest domain differ, or that their intervals overlap. */
static void note_difference(const struct line_value seconds[DOMAIN_COUNT], uint64_t bytes, FILE *notes)
{
    static const char *const shared_thing[DOMAIN_COUNT] = {"nothing", "an L3", "a NUMA node only", "the package only"};
    int fastest = DOMAIN_NONE, slowest = DOMAIN_NONE, n_known = 0;
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++) {
        if (!(seconds[domain].value > 0))
            continue;
        n_known++;
        if (fastest == DOMAIN_NONE || seconds[domain].value < seconds[fastest].value)
            fastest = domain;
        if (slowest == DOMAIN_NONE || seconds[domain].value > seconds[slowest].value)
            slowest = domain;
    }
    if (n_known < 2)
        return;
    if (seconds[fastest].high < seconds[slowest].low)
        fit_note(notes, "%s: at %llu B pairs that share %s are %.2f times as fast as those that share %s",
                 level_name[LEVEL_INTRA_SOCKET], (unsigned long long)bytes, shared_thing[fastest],
                 seconds[slowest].value / seconds[fastest].value, shared_thing[slowest]);
    else
        fit_note(notes, "%s: at %llu B it makes no difference beyond the intervals what a pair shares",
                 level_name[LEVEL_INTRA_SOCKET], (unsigned long long)bytes);
}

static int fit_all(const struct fit *fit, struct error *error);

/* Fits what pairs of a socket share. */
static void fit_domain(const struct fit *fit)
{
    bool measured[DOMAIN_COUNT] = {false};
    struct line_value seconds[DOMAIN_COUNT] = {{0, NAN, NAN}};
    uint64_t largest = 0;
    int n_domains = 0;
    for (size_t i = 0; i < fit->samples->n_samples; i++) {
        const struct sample *sample = &fit->samples->samples[i];
        if (sample->level != LEVEL_INTRA_SOCKET || sample->domain == DOMAIN_NONE)
            continue;
        n_domains += !measured[sample->domain];
        measured[sample->domain] = true;
        largest = sample->bytes > largest ? sample->bytes : largest;
    }
    struct fit_options options = *fit->options;
    if (n_domains < 2 || !level_thresholds(fit->machine, &options.thresholds[LEVEL_INTRA_SOCKET]))
        return;
    largest = largest < SIZE_COMPARED ? largest : SIZE_COMPARED;
    for (enum domain domain = DOMAIN_L3; domain < DOMAIN_COUNT; domain++) {
        if (!measured[domain])
            continue;
        struct samples selected = select_domain(fit->samples, domain);
        struct machine fitted = {.parameters = NULL};
        struct error reason;
        if (fit_all(&(struct fit){&selected, &options, &fitted, NULL}, &reason) != 0) {
            fit_note(fit->notes, "%s %s: left out: %s", level_name[LEVEL_INTRA_SOCKET], domain_name[domain],
                     reason.text);
        } else {
            append_domain(&fitted, domain, fit->machine);
            seconds[domain] = message_s(&fitted, largest);
        }
        machine_release(&fitted);
        samples_release(&selected);
    }
    note_difference(seconds, largest, fit->notes);
}

/* Every other benchmark's fit, in the order of its rows. */
static fit_benchmark *const benchmarks[] = {
    fit_backlog, fit_buffer,    fit_burst,    fit_cached,   fit_contention, fit_domain, fit_fine,
    fit_gpu,     fit_injection, fit_overhead, fit_progress, fit_queue,      fit_self,
};

static int fit_all(const struct fit *fit, struct error *error)
{
    size_t before = fit->machine->n_parameters;
    note_disturbed(fit->samples, fit->notes);
    if (fit_curves(fit, error) != 0)
        return -1;
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++)
        benchmarks[i](fit);
    if (fit->machine->n_parameters == before)
        return fit->options->may_be_empty
                   ? 0
                   : error_set(error, "no level has a protocol with two sizes; a line needs two, an interval three");
    struct drift drift;
    drift_find(fit->samples, &drift);
    drift_apply(&drift, fit->machine);
    return 0;
}

int fit_machine(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
                struct error *error)
{
    return fit_all(&(struct fit){samples, options, machine, notes}, error);
}
