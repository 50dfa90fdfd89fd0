/* Answers what the models ask of a table: protocol, latency, bandwidth. */
#include "calibrate/machine/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/memory.h"

static bool is_quantity(const struct machine_parameter *row, enum level level, const char *quantity)
{
    return row->level == level && strcmp(row->quantity, quantity) == 0;
}

static int missing(const struct machine *machine, enum level level, const char *protocol, const char *what,
                   struct error *error)
{
    return error_set(
        error,
        "machine '%s' has no %s for level %s%s%s, which the messages need: calibrate it, or take another machine",
        machine->name, what, level_text(level), protocol != NULL ? ", protocol " : "",
        protocol != NULL ? protocol : "");
}

int machine_protocols(const struct machine *machine, enum level level, struct machine_protocols *protocols,
                      struct error *error)
{
    bool used[PROTOCOL_COUNT] = {false};
    uint64_t from_bytes[PROTOCOL_COUNT] = {0};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_quantity(row, level, "tau") || is_quantity(row, level, "bw"))
            used[row->protocol] = true;
        if (is_quantity(row, level, "threshold"))
            from_bytes[row->protocol] = (uint64_t)row->value;
    }
    struct machine_protocols found = {0};
    for (int p = PROTOCOL_ANY; p < PROTOCOL_COUNT; p++) { /* machine_check: thresholds ascend in this order */
        if (!used[p])
            continue;
        found.protocol[found.n] = (enum machine_protocol)p;
        found.from_bytes[found.n++] = from_bytes[p];
    }
    if (found.n == 0)
        return missing(machine, level, NULL, "values", error);
    *protocols = found;
    return 0;
}

enum machine_protocol machine_protocol_of(const struct machine_protocols *protocols, uint64_t bytes)
{
    size_t i = protocols->n - 1;
    while (i > 0 && bytes < protocols->from_bytes[i])
        i--;
    return protocols->protocol[i];
}

int machine_tau_s(const struct machine *machine, enum level level, enum machine_protocol protocol, double *tau_s,
                  struct error *error)
{
    return machine_tau_named_s(machine, level, protocol, "tau", tau_s, error);
}

int machine_tau_named_s(const struct machine *machine, enum level level, enum machine_protocol protocol,
                        const char *quantity, double *tau_s, struct error *error)
{
    double found_s = machine_value(machine, level, protocol, quantity, NAN);
    if (isnan(found_s))
        return missing(machine, level, machine_protocol_name[protocol], quantity, error);
    *tau_s = found_s;
    return 0;
}

const struct machine_parameter *machine_row(const struct machine *machine, enum level level,
                                            enum machine_protocol protocol, const char *quantity, uint64_t n)
{
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_quantity(row, level, quantity) && row->n == n &&
            (protocol == PROTOCOL_COUNT || row->protocol == protocol))
            return row;
    }
    return NULL;
}

double machine_value(const struct machine *machine, enum level level, enum machine_protocol protocol,
                     const char *quantity, double absent)
{
    const struct machine_parameter *row = machine_row(machine, level, protocol, quantity, MACHINE_NO_N);
    return row != NULL ? row->value : absent;
}

int machine_queue_step_s(const struct machine *machine, enum machine_queue queue, double depth, double *step_s,
                         struct error *error)
{
    static const char *const quantities[MACHINE_QUEUE_COUNT] = {"queue_step", "queue_step_unexpected"};
    const struct machine_parameter *below = NULL, *above = NULL; /* the nearest depths on either side */
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (!is_quantity(row, LEVEL_COUNT, quantities[queue]))
            continue;
        double n = (double)row->n;
        if (n <= depth && (below == NULL || row->n > below->n))
            below = row;
        if (n >= depth && (above == NULL || row->n < above->n))
            above = row;
    }
    if (below == NULL && above == NULL && queue != MACHINE_QUEUE_POSTED)
        return machine_queue_step_s(machine, MACHINE_QUEUE_POSTED, depth, step_s, error);
    if (below == NULL && above == NULL) {
        double gamma_s = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "gamma", -1);
        *step_s = 2 * gamma_s;
        return gamma_s >= 0 ? 0
                            : error_set(error,
                                        "machine '%s' has neither queue_step nor gamma, which queue needs: calibrate "
                                        "it, or take another machine",
                                        machine->name);
    }
    if (below == NULL || above == NULL || below == above) {
        *step_s = below != NULL ? below->value : above->value;
        return 0;
    }
    double share = (depth - (double)below->n) / ((double)above->n - (double)below->n);
    *step_s = below->value + share * (above->value - below->value);
    return 0;
}

static int compare_n(const void *a, const void *b)
{
    const struct machine_parameter *x = *(const struct machine_parameter *const *)a;
    const struct machine_parameter *y = *(const struct machine_parameter *const *)b;
    return (x->n > y->n) - (x->n < y->n);
}

static bool has_quantity(const struct machine *machine, const char *quantity)
{
    for (size_t i = 0; i < machine->n_parameters; i++)
        if (strcmp(machine->parameters[i].quantity, quantity) == 0)
            return true;
    return false;
}

int machine_bandwidth(const struct machine *machine, enum level level, enum machine_protocol protocol,
                      struct machine_bandwidth *bandwidth, struct error *error)
{
    return machine_bandwidth_named(machine, level, protocol, "bw", "injection", bandwidth, error);
}

int machine_bandwidth_named(const struct machine *machine, enum level level, enum machine_protocol protocol,
                            const char *quantity, const char *injection, struct machine_bandwidth *bandwidth,
                            struct error *error)
{
    size_t n_knots = 0;
    const struct machine_parameter **rows = xcalloc(machine->n_parameters, sizeof *rows);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        if (is_quantity(row, level, quantity) && row->protocol == protocol)
            rows[n_knots++] = row;
    }
    if (n_knots == 0) {
        free(rows);
        return missing(machine, level, machine_protocol_name[protocol], quantity, error);
    }
    struct machine_bandwidth read = {.n_knots = n_knots,
                                     .n = xcalloc(n_knots, sizeof *read.n),
                                     .bytes_per_s = xcalloc(n_knots, sizeof *read.bytes_per_s)};
    qsort(rows, n_knots, sizeof *rows, compare_n);
    for (size_t i = 0; i < n_knots; i++) {
        read.n[i] = (double)rows[i]->n;
        read.bytes_per_s[i] = rows[i]->value;
    }
    if (n_knots == 1 && rows[0]->n == 1 && has_quantity(machine, injection))
        read.injection_bytes_per_s = machine_value(machine, level, protocol, injection, INFINITY);
    *bandwidth = read;
    free(rows);
    return 0;
}

void machine_bandwidth_release(struct machine_bandwidth *bandwidth)
{
    free(bandwidth->n);
    free(bandwidth->bytes_per_s);
    *bandwidth = (struct machine_bandwidth){0};
}

double machine_bandwidth_most(const struct machine_bandwidth *bandwidth)
{
    return bandwidth->injection_bytes_per_s > 0 ? bandwidth->injection_bytes_per_s
                                                : bandwidth->bytes_per_s[bandwidth->n_knots - 1];
}

double machine_bandwidth_at(const struct machine_bandwidth *bandwidth, double n, bool *extrapolated)
{
    size_t last = bandwidth->n_knots - 1;
    double limit = bandwidth->injection_bytes_per_s;
    if (n > bandwidth->n[last] && limit > 0) {
        *extrapolated = *extrapolated || !isfinite(limit);
        return fmin(n * bandwidth->bytes_per_s[0], limit);
    }
    if (n < bandwidth->n[0] || n > bandwidth->n[last])
        *extrapolated = true;
    if (n <= bandwidth->n[0])
        return bandwidth->bytes_per_s[0];
    if (n >= bandwidth->n[last])
        return bandwidth->bytes_per_s[last];
    size_t right = 1;
    while (bandwidth->n[right] < n)
        right++;
    double share = (n - bandwidth->n[right - 1]) / (bandwidth->n[right] - bandwidth->n[right - 1]);
    return bandwidth->bytes_per_s[right - 1] +
           share * (bandwidth->bytes_per_s[right] - bandwidth->bytes_per_s[right - 1]);
}
