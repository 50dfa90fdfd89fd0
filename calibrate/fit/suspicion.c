/* A fit always gives numbers. Some sets of them no machine can have, and others rest on too little: a reader of the
 * table should not have to find that out. */
#include "calibrate/fit/suspicion.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "calibrate/fit/fits.h"
#include "calibrate/fit/suspicion_memory.h"

enum { SAMPLES_MIN = 10 };

#define INTERVAL_MAX          0.10 /* width over value */
#define RATE_MAX              1.10 /* promised over best measured */
#define DRIFT_MAX             0.05 /* relative standard deviation */
#define SAMPLES_DISTURBED_MAX 0.10 /* share of the samples */
#define STEAL_MAX             0.01
#define SHARE_MAX             1.01 /* a process's share with more competitors over that with fewer */

static bool one_of(const char *quantity, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(quantity, *names) == 0)
            return true;
    return false;
}

/* Reports what a calibration found out about itself (drift.h). */
static void check_drift(struct suspicions *found, const struct machine_parameter *row)
{
    if (strncmp(row->quantity, "drift_", 6) == 0 && row->value > DRIFT_MAX)
        suspicion_say(found, row, SUSPICION_DRIFT, row->value,
                      "the machine's own speed went up and down by %.3g %% while it was calibrated", 100 * row->value);
    else if (strcmp(row->quantity, "disturbed") == 0 && row->value > SAMPLES_DISTURBED_MAX)
        suspicion_say(found, row, SUSPICION_DISTURBED, row->value,
                      "others had the machine during %.3g %% of the samples", 100 * row->value);
    else if (strcmp(row->quantity, "steal") == 0 && row->value > STEAL_MAX)
        suspicion_say(found, row, SUSPICION_STEAL, row->value, "the hypervisor took %.3g %% of the processors",
                      100 * row->value);
}

static bool is_drift(const struct machine_parameter *row)
{
    static const char *const own[] = {"drift_small", "drift_large", "disturbed", "waited", "steal", NULL};
    return one_of(row->quantity, own);
}

static void check_certainty(struct suspicions *found, const struct machine_parameter *row)
{
    /* Are found by a search of few, chosen samples. */
    static const char *const searched[] = {"threshold", "buffer", NULL};
    /* Are costs that a machine may not have: where the interval reaches 0, the samples show none, and that is a result.
     */
    static const char *const costs[] = {"gamma", "queue_step", "queue_step_unexpected", "delta", NULL};
    /* Have an interval that says how sizes differ, or none. */
    static const char *const calls[] = {"overhead_send", "overhead_send_byte", "overhead_receive",
                                        "progress",      "cached_bytes",       NULL};
    double width = row->ci_high - row->ci_low;
    if (row->samples == 0)
        return;
    if (row->samples < SAMPLES_MIN && !one_of(row->quantity, searched))
        suspicion_say(found, row, SUSPICION_FEW_SAMPLES, (double)row->samples, "only %llu samples",
                      (unsigned long long)row->samples);
    if (one_of(row->quantity, calls))
        return;
    if (strcmp(row->method, QUEUE_NOT_LINEAR) == 0)
        return; /* next to 0: how near in percent says nothing */
    if (isnan(width))
        suspicion_say(found, row, SUSPICION_NO_END, 0, "its 95 %% interval has no end");
    else if (!(row->value > 0) || (!(row->ci_low > 0) && one_of(row->quantity, costs)))
        return;
    else if (width > INTERVAL_MAX * row->value)
        suspicion_say(found, row, SUSPICION_WIDE, width / row->value, "its 95 %% interval is %.3g %% wide",
                      100 * width / row->value);
}

/* Returns the row of the same level and protocol with the next smaller n; NULL if there is none. */
static const struct machine_parameter *previous_knot(const struct machine *machine, const struct machine_parameter *row)
{
    const struct machine_parameter *found = NULL;
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *other = &machine->parameters[i];
        if (other->level == row->level && other->protocol == row->protocol && strcmp(other->quantity, "bw") == 0 &&
            other->n < row->n && (found == NULL || other->n > found->n))
            found = other;
    }
    return found;
}

static void check_share(struct suspicions *found, const struct machine_parameter *row)
{
    const struct machine_parameter *previous = previous_knot(found->machine, row);
    if (previous == NULL)
        return;
    double share = row->value / (double)row->n, before = previous->value / (double)previous->n;
    if (previous->n == 1 && row->n == 2) {
        if (before < share)
            suspicion_say(found, previous, SUSPICION_ODD, 0, "%.4g GB/s is less than half of bw 2, %.4g GB/s",
                          before * 1e-9, row->value * 1e-9);
    } else if (share > SHARE_MAX * before) {
        suspicion_say(found, row, SUSPICION_ODD, 0,
                      "a process's share grows from %.4g to %.4g GB/s as n grows from %llu", before * 1e-9,
                      share * 1e-9, (unsigned long long)previous->n);
    }
}

/* A node cannot take more from the network in the two-way Algorithm 1 than all of its links carry one way. */
static void check_injection(struct suspicions *found, const struct machine_parameter *row)
{
    for (size_t i = 0; i < found->machine->n_parameters; i++) {
        const struct machine_parameter *other = &found->machine->parameters[i];
        if (other->level == row->level && other->protocol == row->protocol && strcmp(other->quantity, "bw") == 0 &&
            other->value > RATE_MAX * row->value)
            suspicion_say(found, row, SUSPICION_ODD, 0, "%.4g GB/s is less than bw %llu, %.4g GB/s", row->value * 1e-9,
                          (unsigned long long)other->n, other->value * 1e-9);
    }
}

/* Accepts benchmarks whose seconds are those of messages of one size, n processes at once. */
static bool of_a_curve(const struct sample *sample)
{
    return sample->benchmark == BENCHMARK_PINGPONG || sample->benchmark == BENCHMARK_ALGORITHM1 ||
           sample->benchmark == BENCHMARK_SELF;
}

/* Finds the largest size that was measured for a row, and the shortest time of it. */
static void largest_sample(const struct machine *machine, const struct samples *samples,
                           const struct machine_parameter *row, double *bytes, double *seconds)
{
    struct machine_protocols protocols;
    *bytes = 0;
    if (machine_protocols(machine, row->level, &protocols, NULL) != 0)
        return;
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        double size = (double)sample->bytes;
        if (!of_a_curve(sample) || sample->level != row->level || sample->n != row->n || size < *bytes ||
            machine_protocol_of(&protocols, sample->bytes) != row->protocol)
            continue;
        if (size > *bytes || sample->seconds < *seconds)
            *seconds = sample->seconds;
        *bytes = size;
    }
}

static void check_rate(struct suspicions *found, const struct samples *samples, const struct machine_parameter *row)
{
    double bytes, seconds = 0, tau_s, n = (double)row->n;
    largest_sample(found->machine, samples, row, &bytes, &seconds);
    if (!(bytes > 0) || machine_tau_s(found->machine, row->level, row->protocol, &tau_s, NULL) != 0)
        return;
    double best = n * bytes / seconds, promised = n * bytes / (tau_s + n * bytes / row->value);
    if (promised > RATE_MAX * best)
        suspicion_say(found, row, SUSPICION_PROMISES, promised / best,
                      "promises %.4g GB/s for messages of %.0f B, the best sample reached %.4g GB/s", promised * 1e-9,
                      bytes, best * 1e-9);
}

int suspicion_find(const struct machine *machine, const struct samples *samples,
                   void (*report)(void *context, const struct suspicion *suspicion), void *context)
{
    struct suspicions found = {.machine = machine, .report = report, .context = context};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_drift(row))
            check_drift(&found, row);
        else if (!suspicion_memory_excuses(row))
            check_certainty(&found, row);
        if (strcmp(row->quantity, "injection") == 0)
            check_injection(&found, row);
        if (strcmp(row->quantity, "bw") != 0)
            continue;
        check_share(&found, row);
        if (samples != NULL)
            check_rate(&found, samples, row);
    }
    for (int level = 0; level <= LEVEL_COUNT; level++)
        suspicion_find_memory(&found, (enum level)level);
    return found.n;
}
