/* Brings the parts of a fit together in the order of a table's rows: thresholds and lines of each level, then what
 * every other benchmark gives, then what pairs of a socket share, and the drift.
 *
 * What pairs of a socket share: tau_l3, bw_l3, tau_numa, bw_numa, tau_package, bw_package (n = 1) of intra_socket. If
 * the benchmarks measured pairs of two domains or more (machine.h: enum domain), the samples of each domain alone are
 * fitted as the whole level was, with the level's thresholds. The latency and the bandwidth of a single message are
 * kept of the result, for each protocol. The level's own rows come from all domains together (samples_combine). */
#include "calibrate/fit/fit_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/drift.h"
#include "calibrate/fit/estimate.h"
#include "calibrate/fit/thresholds.h"

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
    const struct estimates *estimates = &fitted->estimates;
    bool any = false;
    for (int part = 0; part < thresholds->n; part++) {
        enum machine_protocol protocol = thresholds->protocol[part];
        int added = 0;
        for (size_t i = 0; i < estimates->n_estimates; i++) {
            if (estimates->estimates[i].protocol != protocol)
                continue;
            append_estimate(fit, level, &estimates->estimates[i]);
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
    struct level_estimates levels[LEVEL_COUNT] = {{{.n = 0}, {NULL, 0}}};
    int result = fit_thresholds_find(fit->samples, &curves, fit->options, thresholds, fit->notes, error);
    if (result == 0) {
        for (size_t i = 0; i < curves.n_curves; i++)
            levels[curves.curves[i].level].thresholds = thresholds[curves.curves[i].level];
        for (int level = 0; level < LEVEL_COUNT; level++)
            if (levels[level].thresholds.n > 0)
                levels[level].estimates =
                    estimate_level(&curves, (enum level)level, &levels[level].thresholds, fit->options, fit->notes);
        estimates_widen(levels, fit->samples, &curves, fit->options);
        for (int level = 0; level < LEVEL_COUNT; level++) {
            append_level(fit, (enum level)level, &levels[level]);
            estimates_release(&levels[level].estimates);
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

static const struct machine_parameter *find_row(const struct machine *fitted, enum machine_protocol protocol,
                                                const char *quantity)
{
    for (size_t i = 0; i < fitted->n_parameters; i++) {
        const struct machine_parameter *row = &fitted->parameters[i];
        if (row->protocol == protocol && strcmp(row->quantity, quantity) == 0 &&
            (row->n == 1 || row->n == MACHINE_NO_N))
            return row;
    }
    return NULL;
}

/* Returns the seconds of a message by the fitted rows, within the interval of the bandwidth; 0 where they do not tell.
 */
static struct line_value message_s(const struct machine *fitted, uint64_t bytes)
{
    struct machine_protocols protocols;
    if (machine_protocols(fitted, LEVEL_INTRA_SOCKET, &protocols, NULL) != 0)
        return (struct line_value){0, NAN, NAN};
    enum machine_protocol protocol = machine_protocol_of(&protocols, bytes);
    const struct machine_parameter *tau = find_row(fitted, protocol, "tau"), *bw = find_row(fitted, protocol, "bw");
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
