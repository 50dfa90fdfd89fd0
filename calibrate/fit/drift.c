/* A table should hold for the next hour, not only for the minute in which it was measured: its intervals must include
 * how much the speed of the machine itself varies. */
#include "calibrate/fit/drift.h"

#include <math.h>
#include <stdio.h>

#include "calibrate/fit/fits.h"
#include "calibrate/samples/samples.h"
#include "share/base/memory.h"
#include "share/base/one_of.h"

/* Welford's running mean and sum of squares. */
struct moments {
    size_t n;
    double mean;
    double squares;
};

static void moments_add(struct moments *moments, double value)
{
    if (isnan(value))
        return;
    double before = value - moments->mean;
    moments->mean += before / (double)++moments->n;
    moments->squares += before * (value - moments->mean);
}

static double moments_deviation(const struct moments *moments)
{
    return moments->n > 1 ? sqrt(moments->squares / (double)(moments->n - 1)) : NAN;
}

static double share(size_t part, size_t all)
{
    return all > 0 ? (double)part / (double)all : NAN;
}

void drift_find(const struct samples *samples, struct drift *drift)
{
    struct disturbance disturbance = disturbed_sum(samples);
    struct moments small = {0}, large = {0}, waited = {0}, steal = {0};
    for (size_t i = 0; i < samples->probings.n; i++) {
        const struct probing *probing = &samples->probings.probings[i];
        moments_add(&waited, probing->waited);
        moments_add(&steal, probing->steal);
        if (probing_disturbs(probing->verdict, 0))
            continue;
        moments_add(&small, log(probing->small_s));
        moments_add(&large, log(probing->large_s));
    }
    *drift = (struct drift){
        .small = moments_deviation(&small),
        .large = moments_deviation(&large),
        .n_probes = small.n < large.n ? small.n : large.n,
        .disturbed = samples->probings.n > 0 ? share(disturbance.n_disturbed, disturbance.n_samples) : NAN,
        .never_quiet = share(disturbance.n_never_quiet, disturbance.n_points),
        .waited = waited.n > 0 ? waited.mean : NAN,
        .steal = steal.n > 0 ? steal.mean : NAN,
    };
}

/* Returns by what share a value of that quantity drifts; 0 if it does not. */
static double deviation_of(const struct drift *drift, const char *quantity)
{
    if (BEGINS_WITH_ONE_OF(quantity, "tau", "gamma", "queue_step", "overhead"))
        return drift->small;
    return BEGINS_WITH_ONE_OF(quantity, "bw", "injection", "delta") ? drift->large : 0;
}

static void drift_widen(const struct drift *drift, struct machine_parameter *row)
{
    double n = (double)drift->n_probes, deviation = deviation_of(drift, row->quantity);
    if (drift->n_probes < 2 || !(deviation > 0))
        return;
    double half = line_quantile(drift->n_probes - 1) * deviation * sqrt(1 + 1 / n) * row->value;
    double low = row->value - hypot(row->value - row->ci_low, half);
    row->ci_low = low < 0 ? fmin(row->ci_low, 0) : low; /* NaN stays */
    row->ci_high = fit_finite(row->value + hypot(row->ci_high - row->value, half));
}

static void drift_append(struct machine *machine, const char *quantity, double value, size_t n_probes)
{
    if (!isnan(value))
        fit_row(machine, LEVEL_COUNT, PROTOCOL_ANY, quantity, MACHINE_NO_N, (struct line_value){value, NAN, NAN},
                n_probes, "probes");
}

void drift_apply(const struct drift *drift, struct machine *machine)
{
    for (size_t i = 0; i < machine->n_parameters; i++)
        drift_widen(drift, &machine->parameters[i]);
    drift_append(machine, "drift_small", drift->small, drift->n_probes);
    drift_append(machine, "drift_large", drift->large, drift->n_probes);
    drift_append(machine, "disturbed", drift->disturbed, drift->n_probes);
    drift_append(machine, "waited", drift->waited, drift->n_probes);
    drift_append(machine, "steal", drift->steal, drift->n_probes);
}

static void write_percent(FILE *stream, const char *format, double share)
{
    if (!isnan(share))
        fprintf(stream, format, 100 * share);
}

static void write_benchmarks(FILE *stream, const struct samples *samples)
{
    const char *separator = " (";
    for (int i = 0; i < BENCHMARK_COUNT; i++) {
        const struct disturbance *own = &samples->disturbance[i];
        if (own->n_never_quiet == 0)
            continue;
        fprintf(stream, "%s%s %zu of %zu", separator, benchmark_name[i], own->n_never_quiet, own->n_points);
        separator = ", ";
    }
    fputs(separator[0] == ',' ? ")" : "", stream);
}

int drift_check(const struct drift *drift, const struct samples *samples, struct error *error)
{
    bool drifted = drift->small > DRIFT_LEVEL_MAX || drift->large > DRIFT_LEVEL_MAX;
    if (!(drift->never_quiet >= DISTURBED_MAX) && !(drift->waited >= DRIFT_WAITED_MAX) && !drifted)
        return 0;
    char text[512] = "";
    FILE *stream = or_no_memory(fmemopen(text, sizeof text, "w"));
    write_percent(stream, "%.0f %% of the measurements were taken only while others had the machine",
                  drift->never_quiet);
    write_benchmarks(stream, samples);
    write_percent(stream, "; others had %.0f %% of the processor time that the ranks wanted", drift->waited);
    write_percent(stream, ", the hypervisor took %.1f %%", drift->steal);
    write_percent(stream, "; the processor drifted by %.0f %%", drift->small);
    write_percent(stream, ", the memory by %.0f %%", drift->large);
    fclose(stream);
    return error_set(error,
                     "too disturbed: %s (expected below %.0f %% of the measurements, %.0f %% of the processor time, a "
                     "drift of %.0f %%)",
                     text, 100 * DISTURBED_MAX, 100 * DRIFT_WAITED_MAX, 100 * DRIFT_LEVEL_MAX);
}
