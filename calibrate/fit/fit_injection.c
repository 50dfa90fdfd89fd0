/* Fits R_N, the rate at which a node injects data into the network (B2, B Table 1; H2): n processes of it send at the
 * same time, and n / slope of the line of time over size is the rate of all of them together.
 *
 * R_N is the largest of these rates, if it is one. Where the last step to more processes still gave more than half of
 * what it would give without a limit, the limit was not reached, and the row says `lower-bound`. Only sizes of the
 * rendezvous protocol count, as the table has it; a table of one protocol has R_N for `any`. Papers are named as in
 * share/doc/MODELS.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/launches.h"

/* Holds the rate with n processes. */
struct rate {
    uint64_t n;
    struct line_value bytes_per_s;
    size_t n_samples;
};

/* Returns the smallest size that counts, and the protocol that it has in the table. */
static double rendezvous_from(const struct machine *machine, enum machine_protocol *protocol)
{
    double bytes = 0;
    *protocol = PROTOCOL_RENDEZVOUS;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (row->level != LEVEL_INTER_NODE)
            continue;
        if (row->protocol == PROTOCOL_ANY && strcmp(row->quantity, "bw") == 0)
            *protocol = PROTOCOL_ANY;
        if (row->protocol == PROTOCOL_RENDEZVOUS && strcmp(row->quantity, "threshold") == 0)
            bytes = row->value;
    }
    return bytes;
}

/* Finds the rates by ascending n, which the caller frees; returns their number, or -1 without memory. */
static int find_rates(const struct samples *samples, const struct fit_options *options, double from_bytes, FILE *notes,
                      struct rate **rates)
{
    int n_rates = 0;
    uint64_t last_n = 0;
    *rates = calloc(samples->n_samples + 1, sizeof **rates);
    for (size_t i = 0; *rates != NULL && i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        if (sample->benchmark != BENCHMARK_INJECTION || sample->level != LEVEL_INTER_NODE || sample->n == last_n)
            continue;
        last_n = sample->n;
        struct benchmark_points points;
        struct line line;
        const struct sample like = {.benchmark = BENCHMARK_INJECTION, .level = LEVEL_INTER_NODE, .n = last_n};
        if (benchmark_points_make(samples, &like, options->statistic, from_bytes, &points) != 0)
            return -1;
        if (line_fit(points.bytes, points.seconds, points.n_points, options->method, NULL, &line) == 0)
            (*rates)[n_rates++] = (struct rate){last_n, benchmark_rate(last_n, &line.slope), points.n_samples};
        else
            benchmark_note(notes, "injection: n = %llu left out: %zu sizes from %.0f B on, a line needs two",
                           (unsigned long long)last_n, points.n_points, from_bytes);
        benchmark_points_release(&points);
    }
    return *rates == NULL ? -1 : n_rates;
}

/* Says whether the step to the last n gave less than half of what it would without a limit. */
static bool levels_off(const struct rate *rates, int n_rates)
{
    if (n_rates < 2)
        return false;
    const struct rate *before = &rates[n_rates - 2], *last = &rates[n_rates - 1];
    double more = (double)last->n / (double)before->n - 1;
    return last->bytes_per_s.value / before->bytes_per_s.value - 1 < more / 2;
}

static const struct rate *largest_of(const struct rate *rates, int n_rates)
{
    const struct rate *largest = &rates[0];
    for (int i = 1; i < n_rates; i++)
        if (rates[i].bytes_per_s.value > largest->bytes_per_s.value)
            largest = &rates[i];
    return largest;
}

/* Estimates for launches_widen; context is the smallest size that counts. */
static int estimate(const struct samples *samples, const struct fit_options *options, const void *context,
                    double *values)
{
    struct rate *rates;
    int n_rates = find_rates(samples, options, *(const double *)context, NULL, &rates);
    if (n_rates > 0)
        values[0] = largest_of(rates, n_rates)->bytes_per_s.value;
    free(rates);
    return n_rates > 0 ? 0 : -1;
}

int fit_injection(const struct samples *samples, const struct fit_options *options, struct machine *machine,
                  FILE *notes, struct error *error)
{
    struct rate *rates;
    enum machine_protocol protocol;
    double from_bytes = rendezvous_from(machine, &protocol);
    int n_rates = find_rates(samples, options, from_bytes, notes, &rates), result = 0;
    if (n_rates > 0) {
        struct rate largest = *largest_of(rates, n_rates);
        struct line_value *const value = &largest.bytes_per_s;
        bool reached = levels_off(rates, n_rates);
        if (!reached)
            benchmark_note(notes,
                           "injection: the node's limit is not reached with %llu processes: it is at least %.4g MB/s",
                           (unsigned long long)rates[n_rates - 1].n, value->value / 1e6);
        result = launches_widen(samples, BENCHMARK_INJECTION, estimate, options, &from_bytes, &value, 1);
        if (result == 0)
            result = benchmark_append(machine, LEVEL_INTER_NODE, protocol, "injection", MACHINE_NO_N, value, "B/s",
                                      largest.n_samples, reached ? "largest-rate" : "lower-bound");
    }
    free(rates);
    return n_rates < 0 || result != 0 ? error_set(error, "no memory") : 0;
}
