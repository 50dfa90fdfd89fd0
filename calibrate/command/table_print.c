/* A table is in SI units, where a latency is 1.2e-06: people get units in which they can compare, scripts get the
 * numbers. */
#include "calibrate/command/table_print.h"

#include <math.h>
#include <string.h>

#include "share/base/help_text.h"
#include "share/base/json.h"
#include "share/base/terminal.h"
#include "share/base/text_table.h"

/* Units in which the values of a measurement are numbers that one can read; the first that fits counts. */
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
    {"backlog", "B", "kB", 1e-3},
    {"backlog_pair", "B", "kB", 1e-3},
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

/* Writes a value with the digits that its interval supports, and one at least: down to the first digit of half its
 * width, or the second where that begins with 1 to 3.5. uncertain: half the width, NaN where it is not known. */
static void shown_value(double value, double factor, double uncertain, char *text, size_t size)
{
    double shown = value * factor, step = pow(10, floor(log10(fabs(uncertain * factor) / 3.55)));
    double first = pow(10, floor(log10(fabs(shown))));
    if (isnan(value)) {
        snprintf(text, size, "-");
        return;
    }
    bool known = isfinite(step) && step > 0 && isfinite(first) && first > 0;
    if (known)
        shown = round(shown / fmin(step, first)) * fmin(step, first);
    if (known && isfinite(shown))
        snprintf(text, size, "%.6g", shown);
    else
        snprintf(text, size, "%.4g", value * factor);
}

enum { N_CELLS = 7 };

/* A row behind its level and protocol. */
struct cells {
    char text[N_CELLS][80];
};

static struct cells cells_of(const struct machine_parameter *row)
{
    struct readable unit = readable_find(row);
    double uncertain = (row->ci_high - row->ci_low) / 2;
    struct cells cells = {.text = {"", "-", "", "", "-", "-", ""}};
    snprintf(cells.text[0], sizeof cells.text[0], "  %s", row->quantity);
    if (row->n != MACHINE_NO_N)
        snprintf(cells.text[1], sizeof cells.text[1], "%llu", (unsigned long long)row->n);
    shown_value(row->value, unit.factor, uncertain, cells.text[2], sizeof cells.text[2]);
    snprintf(cells.text[3], sizeof cells.text[3], "%s", unit.shown);
    if (!isnan(row->ci_low) || !isnan(row->ci_high)) {
        char low[32], high[32];
        shown_value(row->ci_low, unit.factor, uncertain, low, sizeof low);
        shown_value(row->ci_high, unit.factor, uncertain, high, sizeof high);
        snprintf(cells.text[4], sizeof cells.text[4], "%s .. %s", low, high);
    }
    if (row->samples > 0)
        snprintf(cells.text[5], sizeof cells.text[5], "%llu", (unsigned long long)row->samples);
    snprintf(cells.text[6], sizeof cells.text[6], "%.79s", row->method[0] != '\0' ? row->method : "-");
    return cells;
}

/* Whether a row stands below another heading than the one before it. */
static bool begins_group(const struct machine *machine, size_t i)
{
    const struct machine_parameter *row = &machine->parameters[i];
    return i == 0 || row[-1].level != row->level || row[-1].protocol != row->protocol;
}

int table_print_text(FILE *stream, const struct machine *machine)
{
    static const char *const titles[N_CELLS] = {"quantity", "n", "value", "unit", "95 % interval", "samples", "method"};
    struct text_table *table = text_table_new();
    for (size_t i = 0; i < N_CELLS; i++)
        text_table_column(table, titles[i], i == 1 || i == 2 || i == 5 ? TEXT_RIGHT : i == 6 ? TEXT_CUT : TEXT_LEFT);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        struct cells cells = cells_of(&machine->parameters[i]);
        for (size_t k = 0; k < N_CELLS; k++)
            text_table_widen(table, k, cells.text[k]);
    }
    fprintf(stream, "machine  %s\nsource   ", machine->name);
    help_text_fill(stream, machine->source, 9, 9, terminal_page(stream));
    fputc('\n', stream);
    text_table_print(table, stream);
    for (size_t i = 0; i < machine->n_parameters; i++) {
        struct cells cells = cells_of(&machine->parameters[i]);
        if (begins_group(machine, i)) {
            text_table_print(table, stream);
            fprintf(stream, "%s, %s\n", level_text(machine->parameters[i].level),
                    machine_protocol_name[machine->parameters[i].protocol]);
        }
        for (size_t k = 0; k < N_CELLS; k++)
            text_table_text(table, cells.text[k]);
    }
    text_table_end(table, stream);
    return EXIT_DONE;
}

static struct json *parameter_json(const struct machine_parameter *row)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:f, s:s, s:o, s:o, s:I, s:s}", "level", level_text(row->level), "protocol",
                     machine_protocol_name[row->protocol], "quantity", row->quantity, "n",
                     row->n == MACHINE_NO_N ? json_null() : json_integer((int64_t)row->n), "value", row->value, "unit",
                     row->unit, "ci_low", json_finite(row->ci_low), "ci_high", json_finite(row->ci_high), "samples",
                     (int64_t)row->samples, "method", row->method);
}

int table_print_json(FILE *stream, const struct machine *machine)
{
    struct json *parameters = json_array();
    for (size_t i = 0; i < machine->n_parameters; i++)
        json_add(parameters, parameter_json(&machine->parameters[i]));
    return table_print_value(stream, json_pack("{s:s, s:s, s:o}", "name", machine->name, "source", machine->source,
                                               "parameters", parameters));
}

int table_print_value(FILE *stream, struct json *value)
{
    struct error error;
    return json_write(stream, value, &error) == 0 ? EXIT_DONE : error_report(&error);
}
