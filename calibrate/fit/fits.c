/* Points of a line, rates, rows and notes, the same for every benchmark. */
#include "calibrate/fit/fits.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "share/base/memory.h"

static bool is_like(const struct sample *sample, const struct sample *like)
{
    return sample->benchmark == like->benchmark && sample->variant == like->variant && sample->level == like->level &&
           sample->n == like->n && (like->count == 0 || sample->count == like->count);
}

static bool serves(const struct points_wanted *wanted, uint64_t bytes)
{
    return (double)bytes >= wanted->from_bytes && (wanted->most_bytes <= 0 || (double)bytes <= wanted->most_bytes) &&
           (wanted->protocols == NULL || machine_protocol_of(wanted->protocols, bytes) == wanted->protocol);
}

struct points points_make(const struct samples *samples, enum samples_statistic statistic,
                          const struct points_wanted *wanted)
{
    const struct sample *sample = samples->samples;
    struct points points = {
        .bytes = xcalloc(samples->n_samples, sizeof *points.bytes),
        .seconds = xcalloc(samples->n_samples, sizeof *points.seconds),
        .counts = xcalloc(samples->n_samples, sizeof *points.counts),
    };
    for (size_t i = 0, end; i < samples->n_samples; i = end) {
        end = i + 1;
        if (!is_like(&sample[i], &wanted->like))
            continue;
        while (end < samples->n_samples && is_like(&sample[end], &wanted->like) && sample[end].bytes == sample[i].bytes)
            end++;
        if (!serves(wanted, sample[i].bytes))
            continue;
        points.bytes[points.n_points] = (double)sample[i].bytes;
        points.counts[points.n_points] = end - i;
        points.seconds[points.n_points++] = set_seconds(samples, (struct sample_set){i, end - i}, statistic);
        points.n_samples += end - i;
    }
    return points;
}

void points_release(struct points *points)
{
    free(points->bytes);
    free(points->seconds);
    free(points->counts);
    *points = (struct points){0};
}

struct line_value fit_rate(uint64_t n, const struct line_value *slope)
{
    return (struct line_value){
        .value = (double)n / slope->value,
        .low = (double)n / slope->high,
        .high = slope->low > 0 ? (double)n / slope->low : NAN,
    };
}

void fit_method(const struct fit_options *options, enum line_kind kind, char method[24])
{
    static const char *const suffix[] = {[LINE_PLAIN] = "",
                                         [LINE_THROUGH_ORIGIN] = "-origin",
                                         [LINE_FLAT] = "-flat",
                                         [LINE_SHARED] = "-shared",
                                         [LINE_FLOOR] = "-floor"};
    snprintf(method, 24, "%s-%s%s", options->method == LINE_RELATIVE ? "relative" : "ols",
             options->statistic == STATISTIC_MEDIAN ? "median" : "min", suffix[kind]);
}

static double not_below_zero(double value)
{
    return value < 0 ? 0 : value;
}

struct line_value fit_not_negative(struct line_value value)
{
    return (struct line_value){not_below_zero(value.value), not_below_zero(value.low), not_below_zero(value.high)};
}

double fit_finite(double value)
{
    return isfinite(value) ? value : NAN;
}

void fit_row(struct machine *machine, enum level level, enum machine_protocol protocol, const char *quantity,
             uint64_t n, struct line_value value, size_t n_samples, const char *method)
{
    struct machine_parameter row = {
        .level = level,
        .protocol = protocol,
        .n = n,
        .value = value.value,
        .ci_low = fit_finite(value.low),
        .ci_high = fit_finite(value.high),
        .samples = n_samples,
    };
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", machine_unit(quantity));
    snprintf(row.method, sizeof row.method, "%s", method);
    machine_append(machine, &row);
}

void fit_note(FILE *notes, const char *format, ...)
{
    if (notes == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(notes, format, arguments);
    fputc('\n', notes);
    va_end(arguments);
}
