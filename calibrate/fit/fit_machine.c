#include "fit_machine.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks.h"
#include "thresholds.h"

/* Every other benchmark's fit, in the order of its rows. */
static fit_benchmark *const benchmarks[] = {
    fit_contention,
};

/* One protocol of one level while its rows are made. */
struct part {
    const struct curves *curves;
    const struct fit_options *options;
    enum machine_level level;
    enum machine_protocol protocol;
    double begin_bytes;
    double end_bytes;
    struct machine *machine;
    FILE *notes;
};

static void note(const struct part *part, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(const struct part *part, const char *format, ...)
{
    if (part->notes == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(part->notes, "%s %s: ", machine_level_name[part->level], machine_protocol_name[part->protocol]);
    vfprintf(part->notes, format, arguments);
    fputc('\n', part->notes);
    va_end(arguments);
}

static int append(const struct part *part, const char *quantity, uint64_t n, struct line_value value, const char *unit,
                  size_t samples, const char *method)
{
    struct machine_parameter row = {
        .level = part->level,
        .protocol = part->protocol,
        .n = n,
        .value = value.value,
        .ci_low = value.low,
        .ci_high = value.high,
        .samples = samples,
    };
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    snprintf(row.method, sizeof row.method, "%s", method);
    return machine_append(part->machine, &row);
}

/* A line of one N over the protocol's sizes. */
struct n_line {
    uint64_t n;
    enum benchmark benchmark;
    struct line line;
    size_t samples;
};

/* Fits the lines of all curves of the part; returns their number, and -1 without memory. */
static int fit_lines(const struct part *part, struct n_line **lines)
{
    *lines = calloc(part->curves->n_curves, sizeof **lines);
    if (*lines == NULL)
        return -1;
    int n_lines = 0;
    for (size_t i = 0; i < part->curves->n_curves; i++) {
        const struct curve *curve = &part->curves->curves[i];
        if (curve->level != part->level)
            continue;
        size_t first, end;
        curve_range(curve, part->begin_bytes, part->end_bytes, &first, &end);
        struct n_line *fitted = &(*lines)[n_lines];
        *fitted = (struct n_line){.n = curve->n, .benchmark = curve->benchmark};
        if (line_fit(&curve->bytes[first], &curve->seconds[first], end - first, part->options->method, &fitted->line) !=
            0) {
            note(part, "n = %llu left out: %zu sizes measured, a line needs two", (unsigned long long)curve->n,
                 end - first);
            continue;
        }
        for (size_t point = first; point < end; point++)
            fitted->samples += curve->n_samples[point];
        n_lines++;
    }
    return n_lines;
}

static bool large_messages(const struct part *part)
{
    return part->protocol == PROTOCOL_RENDEZVOUS || part->protocol == PROTOCOL_ANY;
}

static const struct n_line *line_find(const struct n_line *lines, int n_lines, uint64_t n, enum benchmark preferred)
{
    const struct n_line *found = NULL;
    for (int i = 0; i < n_lines; i++)
        if (lines[i].n == n && (found == NULL || lines[i].benchmark == preferred))
            found = &lines[i];
    return found;
}

static const struct n_line *line_of_tau(const struct part *part, const struct n_line *lines, int n_lines)
{
    const struct n_line *found = NULL;
    for (int i = 0; i < 2 && found == NULL; i++)
        found = line_find(lines, n_lines, (i == 0) == large_messages(part) ? 2 : 1, BENCHMARK_PINGPONG);
    return found != NULL ? found : &lines[0];
}

static const char *method_name(const struct part *part, const struct n_line *line, char name[24])
{
    static const char *const suffix[] = {[LINE_PLAIN] = "", [LINE_THROUGH_ORIGIN] = "-origin", [LINE_FLAT] = "-flat"};
    snprintf(name, 24, "%s-%s%s", part->options->method == LINE_RELATIVE ? "relative" : "ols",
             part->options->statistic == STATISTIC_MEDIAN ? "median" : "min", suffix[line->line.kind]);
    return name;
}

/* N / slope, with the interval's ends exchanged; no upper end where the slope's interval reaches 0. */
static struct line_value bandwidth(const struct n_line *line)
{
    double n = (double)line->n;
    const struct line_value *slope = &line->line.slope;
    return (struct line_value){
        .value = n / slope->value,
        .low = n / slope->high,
        .high = slope->low > 0 ? n / slope->low : NAN,
    };
}

/* Appends the rows of one protocol; the number of rows, or -1 without memory. */
static int fit_part(const struct part *part)
{
    struct n_line *lines = NULL;
    int n_lines = fit_lines(part, &lines), result = n_lines;
    char method[24];
    if (n_lines > 0) {
        const struct n_line *tau = line_of_tau(part, lines, n_lines);
        result = append(part, "tau", MACHINE_NO_N, tau->line.intercept, "s", tau->samples,
                        method_name(part, tau, method)) == 0
                     ? 1
                     : -1;
    }
    uint64_t last_n = 0;
    for (int i = 0; i < n_lines && result >= 0; i++) {
        if (lines[i].n == last_n)
            continue;
        last_n = lines[i].n;
        const struct n_line *line =
            line_find(lines, n_lines, last_n, large_messages(part) ? BENCHMARK_ALGORITHM1 : BENCHMARK_PINGPONG);
        if (line->line.kind == LINE_FLAT)
            note(part, "n = %llu: the time does not grow with the size; bw is a lower bound",
                 (unsigned long long)line->n);
        result =
            append(part, "bw", line->n, bandwidth(line), "B/s", line->samples, method_name(part, line, method)) == 0
                ? result + 1
                : -1;
    }
    free(lines);
    return result;
}

static int fit_level(struct part *part, const struct fit_thresholds *thresholds, struct error *error)
{
    int rows = 0;
    for (int i = 0; i < thresholds->n; i++) {
        part->protocol = thresholds->protocol[i];
        part->begin_bytes = thresholds->bytes[i];
        part->end_bytes = i + 1 < thresholds->n ? thresholds->bytes[i + 1] : INFINITY;
        int added = fit_part(part);
        if (added == 0)
            note(part, "left out: no N has two sizes from %.0f B", part->begin_bytes);
        /* The first protocol that could be fitted serves all sizes below it too: its threshold is 0. */
        struct line_value threshold = {rows == 0 ? 0 : thresholds->bytes[i], NAN, NAN};
        if (added > 0 && part->protocol != PROTOCOL_ANY && part->protocol != PROTOCOL_SHORT &&
            append(part, "threshold", MACHINE_NO_N, threshold, "B", 0, thresholds->origin[i]) != 0)
            added = -1;
        if (added < 0)
            return error_set(error, "no memory");
        rows += added;
    }
    return rows;
}

int fit_machine(const struct samples *samples, const struct fit_options *options, struct machine *machine, FILE *notes,
                struct error *error)
{
    struct curves curves;
    if (curves_make(samples, options->statistic, &curves) != 0)
        return error_set(error, "no memory");
    struct fit_thresholds thresholds[LEVEL_COUNT];
    int rows = fit_thresholds_find(&curves, options, thresholds, error);
    for (int level = 0; level < LEVEL_COUNT && rows >= 0; level++) {
        bool measured = false;
        for (size_t i = 0; i < curves.n_curves; i++)
            measured = measured || curves.curves[i].level == (enum machine_level)level;
        struct part part = {.curves = &curves,
                            .options = options,
                            .level = (enum machine_level)level,
                            .machine = machine,
                            .notes = notes};
        int added = measured ? fit_level(&part, &thresholds[level], error) : 0;
        rows = added < 0 ? -1 : rows + added;
    }
    curves_release(&curves);
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0] && rows >= 0; i++) {
        size_t before = machine->n_parameters;
        int result = benchmarks[i](samples, options, machine, notes, error);
        rows = result < 0 ? -1 : rows + (int)(machine->n_parameters - before);
    }
    if (rows == 0)
        return error_set(error, "no level has a protocol with two sizes; a line needs two, an interval three");
    return rows < 0 ? -1 : 0;
}
