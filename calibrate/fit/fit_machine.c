/* Brings the parts of a fit together in the order of a table's rows: thresholds and lines of each level, then what
 * every other benchmark gives, then the intervals. */
#include "calibrate/fit/fit_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/estimate.h"
#include "calibrate/fit/intervals.h"
#include "calibrate/fit/thresholds.h"
#include "calibrate/fit/drift.h"

/* Lists every other benchmark's fit, in the order of its rows. */
static fit_benchmark *const benchmarks[] = {
    fit_backlog, fit_buffer,    fit_burst,    fit_cached,   fit_contention, fit_domain, fit_fine,
    fit_gpu,     fit_injection, fit_overhead, fit_progress, fit_queue,      fit_self,
};

static int append_estimate(struct machine *machine, enum level level, const struct estimate *estimate,
                           const struct fit_options *options, FILE *notes)
{
    char method[24];
    benchmark_method(options, estimate->kind, method);
    if (estimate->n == MACHINE_NO_N)
        return benchmark_append(machine, level, estimate->protocol, "tau", MACHINE_NO_N, &estimate->value, "s",
                                estimate->samples, method);
    if (estimate->kind == LINE_FLAT)
        benchmark_note(notes, "%s %s: n = %llu: the time does not grow with the size; bw is a lower bound",
                       level_name[level], machine_protocol_name[estimate->protocol], (unsigned long long)estimate->n);
    struct line_value bw = benchmark_rate(estimate->n, &estimate->value);
    return benchmark_append(machine, level, estimate->protocol, "bw", estimate->n, &bw, "B/s", estimate->samples,
                            method);
}

/* Appends the rows of one level; returns their number, or -1 without memory. */
static int append_level(struct machine *machine, enum level level, const struct level_estimates *fitted,
                        const struct fit_options *options, FILE *notes)
{
    const struct fit_thresholds *thresholds = &fitted->thresholds;
    const struct estimates *estimates = &fitted->estimates;
    int rows = 0;
    for (int part = 0; part < thresholds->n; part++) {
        enum machine_protocol protocol = thresholds->protocol[part];
        int added = 0;
        for (size_t i = 0; i < estimates->n_estimates; i++) {
            if (estimates->estimates[i].protocol != protocol)
                continue;
            if (append_estimate(machine, level, &estimates->estimates[i], options, notes) != 0)
                return -1;
            added++;
        }
        if (added == 0)
            benchmark_note(notes, "%s %s: left out: no N has two sizes from %.0f B", level_name[level],
                           machine_protocol_name[protocol], thresholds->bytes[part]);
        /* The first protocol that could be fitted serves all smaller sizes too: its threshold is 0. */
        struct line_value threshold = {rows == 0 ? 0 : thresholds->bytes[part], NAN, NAN};
        bool probed = rows > 0 && part == thresholds->n - 1 && thresholds->n_samples > 0;
        if (probed)
            threshold = (struct line_value){thresholds->bytes[part], thresholds->low, thresholds->high};
        if (added > 0 && protocol != PROTOCOL_ANY && protocol != PROTOCOL_SHORT &&
            benchmark_append(machine, level, protocol, "threshold", MACHINE_NO_N, &threshold, "B",
                             probed ? thresholds->n_samples : 0, thresholds->origin[part]) != 0)
            return -1;
        rows += added;
    }
    return rows;
}

/* Fits the lines of ping-pong and Algorithm 1; returns the number of rows, or -1 with the reason in error. */
static int fit_curves(const struct samples *samples, const struct curves *curves, const struct fit_options *options,
                      struct machine *machine, FILE *notes, struct error *error)
{
    struct fit_thresholds thresholds[LEVEL_COUNT];
    struct level_estimates levels[LEVEL_COUNT] = {{{.n = 0}, {NULL, 0}}};
    if (fit_thresholds_find(samples, curves, options, thresholds, notes, error) != 0)
        return -1;
    int rows = 0;
    for (size_t i = 0; i < curves->n_curves; i++)
        levels[curves->curves[i].level].thresholds = thresholds[curves->curves[i].level];
    for (int level = 0; level < LEVEL_COUNT && rows == 0; level++)
        rows = levels[level].thresholds.n > 0 ? estimate_level(curves, (enum level)level, &levels[level].thresholds,
                                                               options, notes, &levels[level].estimates)
                                              : 0;
    if (rows == 0)
        rows = intervals_widen(levels, samples, curves, options);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int added = rows >= 0 ? append_level(machine, (enum level)level, &levels[level], options, notes) : -1;
        rows = added < 0 ? -1 : rows + added;
        estimates_release(&levels[level].estimates);
    }
    return rows < 0 ? error_set(error, "no memory") : rows;
}

static void note_disturbed(const struct samples *samples, FILE *notes)
{
    for (int i = 0; i < BENCHMARK_COUNT; i++)
        if (samples->disturbance[i].n_never_quiet > 0)
            benchmark_note(notes, "%s: %zu of %zu measurements were taken only while others had the processors",
                           benchmark_name[i], samples->disturbance[i].n_never_quiet, samples->disturbance[i].n_points);
}

int fit_machine(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
                struct error *error)
{
    struct curves curves;
    if (curves_make(samples, options->statistic, &curves) != 0)
        return error_set(error, "no memory");
    note_disturbed(samples, notes);
    int rows = fit_curves(samples, &curves, options, machine, notes, error);
    curves_release(&curves);
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0] && rows >= 0; i++) {
        size_t before = machine->n_parameters;
        int result = benchmarks[i](samples, options, machine, notes, error);
        rows = result < 0 ? -1 : rows + (int)(machine->n_parameters - before);
    }
    if (rows == 0 && options->may_be_empty)
        return 0;
    if (rows == 0)
        return error_set(error, "no level has a protocol with two sizes; a line needs two, an interval three");
    struct drift drift;
    drift_find(samples, &drift);
    if (rows > 0 && drift_apply(&drift, machine) != 0)
        return error_set(error, "no memory");
    return rows < 0 ? -1 : 0;
}
