#include "suspicion.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "benchmarks.h"

enum { SAMPLES_MIN = 10 };

#define INTERVAL_MAX 0.10 /* width over value */
#define RATE_MAX     1.10 /* promised over best measured */
#define SHARE_MAX    1.01 /* a process's share with more competitors over that with fewer */

struct finding {
    const struct machine *machine;
    void (*report)(void *context, const char *sentence);
    void *context;
    int n;
};

static void say(struct finding *finding, const struct machine_parameter *row, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct finding *finding, const struct machine_parameter *row, const char *format, ...)
{
    char sentence[512];
    int used = snprintf(sentence, sizeof sentence, "%s %s %s", machine_level_text(row->level),
                        machine_protocol_name[row->protocol], row->quantity);
    if (row->n != MACHINE_NO_N)
        used += snprintf(sentence + used, sizeof sentence - (size_t)used, " %llu", (unsigned long long)row->n);
    used += snprintf(sentence + used, sizeof sentence - (size_t)used, ": ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence + used, sizeof sentence - (size_t)used, format, arguments);
    va_end(arguments);
    finding->n++;
    finding->report(finding->context, sentence);
}

static void check_certainty(struct finding *finding, const struct machine_parameter *row)
{
    if (row->samples == 0)
        return;
    if (row->samples < SAMPLES_MIN)
        say(finding, row, "only %llu samples", (unsigned long long)row->samples);
    if (strcmp(row->method, QUEUE_NOT_LINEAR) == 0)
        return; /* next to 0: how near in percent says nothing */
    if (isnan(row->ci_low) || isnan(row->ci_high))
        say(finding, row, "its 95 %% interval has no end");
    else if (row->ci_high - row->ci_low > INTERVAL_MAX * row->value)
        say(finding, row, "its 95 %% interval is %.3g %% wide",
            row->value > 0 ? 100 * (row->ci_high - row->ci_low) / row->value : INFINITY);
}

/* The row of the same level and protocol with the next smaller n; NULL if there is none. */
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

static void check_share(struct finding *finding, const struct machine_parameter *row)
{
    const struct machine_parameter *previous = previous_knot(finding->machine, row);
    if (previous == NULL)
        return;
    double share = row->value / (double)row->n, before = previous->value / (double)previous->n;
    if (previous->n == 1 && row->n == 2) {
        if (before < share)
            say(finding, previous, "%.4g GB/s is less than half of bw 2, %.4g GB/s", before * 1e-9, row->value * 1e-9);
    } else if (share > SHARE_MAX * before) {
        say(finding, row, "a process's share grows from %.4g to %.4g GB/s as n grows from %llu", before * 1e-9,
            share * 1e-9, (unsigned long long)previous->n);
    }
}

/* The largest size that was measured for a row, and the shortest time of it. */
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
        if (sample->level != row->level || sample->n != row->n || size < *bytes ||
            machine_protocol_of(&protocols, sample->bytes) != row->protocol)
            continue;
        if (size > *bytes || sample->seconds < *seconds)
            *seconds = sample->seconds;
        *bytes = size;
    }
}

static void check_rate(struct finding *finding, const struct samples *samples, const struct machine_parameter *row)
{
    double bytes, seconds = 0, tau_s, n = (double)row->n;
    largest_sample(finding->machine, samples, row, &bytes, &seconds);
    if (!(bytes > 0) || machine_tau_s(finding->machine, row->level, row->protocol, &tau_s, NULL) != 0)
        return;
    double best = n * bytes / seconds, promised = n * bytes / (tau_s + n * bytes / row->value);
    if (promised > RATE_MAX * best)
        say(finding, row, "promises %.4g GB/s for messages of %.0f B, the best sample reached %.4g GB/s",
            promised * 1e-9, bytes, best * 1e-9);
}

int suspicion_find(const struct machine *machine, const struct samples *samples,
                   void (*report)(void *context, const char *sentence), void *context)
{
    struct finding finding = {.machine = machine, .report = report, .context = context};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        check_certainty(&finding, row);
        if (strcmp(row->quantity, "bw") != 0)
            continue;
        check_share(&finding, row);
        if (samples != NULL)
            check_rate(&finding, samples, row);
    }
    return finding.n;
}
