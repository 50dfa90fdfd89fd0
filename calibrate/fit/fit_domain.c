/* Fits what pairs of a socket share: tau_l3, bw_l3, tau_numa, bw_numa, tau_package, bw_package (n = 1) of intra_socket.
 *
 * Where the benchmarks measured pairs of two domains or more (machine.h: enum domain), the samples of each domain alone
 * are fitted as the whole level was, with the level's thresholds. The latency and the bandwidth of a single message are
 * kept of the result, for each protocol. The level's own rows come from all domains together (samples_combine). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit_machine.h"
#include "calibrate/fit/fits.h"

#define SIZE_COMPARED 1048576u

static const char *const shared_thing[DOMAIN_COUNT] = {"nothing", "an L3", "a NUMA node only", "the package only"};

/* Selects the samples of one domain, as if there were no others. Returns 0, or -1 without memory. */
static int select_domain(const struct samples *samples, enum domain domain, struct samples *selected)
{
    *selected = (struct samples){.told_bytes = {0}};
    for (size_t i = 0; i < samples->n_samples; i++) {
        struct sample sample = samples->samples[i];
        if (sample.level != LEVEL_INTRA_SOCKET || sample.domain != domain)
            continue;
        sample.domain = DOMAIN_NONE;
        if (samples_append(selected, &sample) != 0) {
            samples_release(selected);
            return -1;
        }
    }
    samples_sort(selected);
    return 0;
}

/* Finds the protocols with which the level was fitted. */
static int level_thresholds(const struct machine *machine, struct fit_thresholds *thresholds)
{
    struct machine_protocols protocols;
    struct error ignored;
    if (machine_protocols(machine, LEVEL_INTRA_SOCKET, &protocols, &ignored) != 0 || protocols.n > SEGMENT_MAX)
        return -1;
    *thresholds = (struct fit_thresholds){.n = (int)protocols.n};
    for (size_t i = 0; i < protocols.n; i++) {
        thresholds->bytes[i] = (double)protocols.from_bytes[i];
        thresholds->protocol[i] = protocols.protocol[i];
        thresholds->origin[i] = "given";
    }
    return 0;
}

/* Appends tau as tau_l3, bw of a single message as bw_l3; the other rows are of the level, not of the domain. */
static int append_rows(const struct machine *fitted, enum domain domain, struct machine *machine)
{
    for (size_t i = 0; i < fitted->n_parameters; i++) {
        struct machine_parameter row = fitted->parameters[i];
        bool kept = strcmp(row.quantity, "tau") == 0 || (strcmp(row.quantity, "bw") == 0 && row.n == 1);
        if (!kept)
            continue;
        size_t length = strlen(row.quantity);
        snprintf(row.quantity + length, sizeof row.quantity - length, "_%s", domain_name[domain]);
        if (machine_append(machine, &row) != 0)
            return -1;
    }
    return 0;
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
    struct error ignored;
    if (machine_protocols(fitted, LEVEL_INTRA_SOCKET, &protocols, &ignored) != 0)
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

/* Says how much the fastest and the slowest domain differ, or that their intervals overlap. */
static void note_difference(const struct line_value seconds[DOMAIN_COUNT], uint64_t bytes, FILE *notes)
{
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
        benchmark_note(notes, "%s: at %llu B pairs that share %s are %.2f times as fast as those that share %s",
                       level_name[LEVEL_INTRA_SOCKET], (unsigned long long)bytes, shared_thing[fastest],
                       seconds[slowest].value / seconds[fastest].value, shared_thing[slowest]);
    else
        benchmark_note(notes, "%s: at %llu B it makes no difference beyond the intervals what a pair shares",
                       level_name[LEVEL_INTRA_SOCKET], (unsigned long long)bytes);
}

/* Fits one domain and appends its rows; *seconds becomes the time of a message of that size. */
static int fit_one(const struct samples *samples, enum domain domain, const struct fit_options *options, uint64_t bytes,
                   struct line_value *seconds, struct machine *machine, FILE *notes, struct error *error)
{
    struct samples selected;
    struct machine fitted = {.parameters = NULL};
    struct error reason;
    if (select_domain(samples, domain, &selected) != 0)
        return error_set(error, "no memory");
    int result = 0;
    if (fit_machine(&selected, options, &fitted, NULL, &reason) != 0)
        benchmark_note(notes, "%s %s: left out: %s", level_name[LEVEL_INTRA_SOCKET], domain_name[domain], reason.text);
    else if (append_rows(&fitted, domain, machine) != 0)
        result = error_set(error, "no memory");
    else
        *seconds = message_s(&fitted, bytes);
    machine_release(&fitted);
    samples_release(&selected);
    return result;
}

int fit_domain(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
               struct error *error)
{
    bool measured[DOMAIN_COUNT] = {false};
    struct line_value seconds[DOMAIN_COUNT] = {{0, NAN, NAN}};
    uint64_t largest = 0;
    int n_domains = 0, result = 0;
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        if (sample->level != LEVEL_INTRA_SOCKET || sample->domain == DOMAIN_NONE)
            continue;
        n_domains += !measured[sample->domain];
        measured[sample->domain] = true;
        largest = sample->bytes > largest ? sample->bytes : largest;
    }
    struct fit_options own = *options;
    if (n_domains < 2 || level_thresholds(machine, &own.thresholds[LEVEL_INTRA_SOCKET]) != 0)
        return 0;
    for (int domain = DOMAIN_L3; domain < DOMAIN_COUNT && result == 0; domain++)
        if (measured[domain])
            result = fit_one(samples, (enum domain)domain, &own, largest < SIZE_COMPARED ? largest : SIZE_COMPARED,
                             &seconds[domain], machine, notes, error);
    if (result == 0)
        note_difference(seconds, largest < SIZE_COMPARED ? largest : SIZE_COMPARED, notes);
    return result;
}
