/* A table is in SI units, where a latency is 1.2e-06: people get units in which they can compare, scripts get the
 * numbers. */
#include "calibrate/table_print.h"

#include <math.h>
#include <string.h>

#include "share/base/json.h"

/* Lists units in which the values of a measurement are numbers that one can read; the first that fits counts. */
static const struct readable {
    const char *quantity; /* NULL: any */
    const char *unit;
    const char *shown;
    double factor;
} readable[] = {
    {"queue_step", "s", "ns", 1e9},
    {"queue_step_unexpected", "s", "ns", 1e9},
    {"gamma", "s", "ns", 1e9},
    {"buffer", "B", "kB", 1e-3},
    {"burst", "B", "kB", 1e-3},
    {"overhead_send", "s", "ns", 1e9},
    {"overhead_receive", "s", "ns", 1e9},
    {"drift_small", "1", "%", 100},
    {"drift_large", "1", "%", 100},
    {"disturbed", "1", "%", 100},
    {"waited", "1", "%", 100},
    {"steal", "1", "%", 100},
    {NULL, "s/B", "ns/B", 1e9},
    {NULL, "s", "us", 1e6},
    {NULL, "B/s", "GB/s", 1e-9},
};

static struct readable readable_find(const struct machine_parameter *row)
{
    for (size_t i = 0; i < sizeof readable / sizeof readable[0]; i++)
        if (strcmp(row->unit, readable[i].unit) == 0 &&
            (readable[i].quantity == NULL || strcmp(row->quantity, readable[i].quantity) == 0))
            return readable[i];
    return (struct readable){.unit = row->unit, .shown = row->unit, .factor = 1};
}

static void shown_value(double value, double factor, char *text, size_t size)
{
    if (isnan(value))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.6g", value * factor);
}

void table_print_text(FILE *stream, const struct machine *machine)
{
    int width = 10; /* width of the longest quantity */
    for (size_t i = 0; i < machine->n_parameters; i++) {
        int length = (int)strlen(machine->parameters[i].quantity);
        width = length > width ? length : width;
    }
    fprintf(stream, "machine  %s\nsource   %s\n\n", machine->name, machine->source);
    fprintf(stream, "%-13s %-11s %-*s %6s %12s %-5s %-24s %8s  %s\n", "level", "protocol", width, "quantity", "n",
            "value", "unit", "95 % interval", "samples", "method");
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        struct readable unit = readable_find(row);
        char n[24] = "-", value[32], interval[72] = "-", samples[24] = "-";
        if (row->n != MACHINE_NO_N)
            snprintf(n, sizeof n, "%llu", (unsigned long long)row->n);
        if (!isnan(row->ci_low) || !isnan(row->ci_high)) {
            char low[32], high[32];
            shown_value(row->ci_low, unit.factor, low, sizeof low);
            shown_value(row->ci_high, unit.factor, high, sizeof high);
            snprintf(interval, sizeof interval, "%s .. %s", low, high);
        }
        if (row->samples > 0)
            snprintf(samples, sizeof samples, "%llu", (unsigned long long)row->samples);
        shown_value(row->value, unit.factor, value, sizeof value);
        fprintf(stream, "%-13s %-11s %-*s %6s %12s %-5s %-24s %8s  %s\n", level_text(row->level),
                machine_protocol_name[row->protocol], width, row->quantity, n, value, unit.shown, interval, samples,
                row->method[0] != '\0' ? row->method : "-");
    }
}

static json_t *parameter_json(const struct machine_parameter *row)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:f, s:s, s:o, s:o, s:I, s:s}", "level", level_text(row->level), "protocol",
                     machine_protocol_name[row->protocol], "quantity", row->quantity, "n",
                     row->n == MACHINE_NO_N ? json_null() : json_integer((json_int_t)row->n), "value", row->value,
                     "unit", row->unit, "ci_low", json_finite(row->ci_low), "ci_high", json_finite(row->ci_high),
                     "samples", (json_int_t)row->samples, "method", row->method);
}

int table_print_json(FILE *stream, const struct machine *machine)
{
    json_t *parameters = json_array();
    for (size_t i = 0; i < machine->n_parameters; i++)
        json_array_append_new(parameters, parameter_json(&machine->parameters[i]));
    return table_print_value(stream, json_pack("{s:s, s:s, s:o}", "name", machine->name, "source", machine->source,
                                               "parameters", parameters));
}

int table_print_value(FILE *stream, json_t *value)
{
    struct error error;
    return json_write(stream, value, &error) == 0 ? EXIT_DONE : error_report(&error);
}
