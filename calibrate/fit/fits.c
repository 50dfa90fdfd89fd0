/* Holds what the fits of the single benchmarks share: points of a line, a rate, a row, a note. */
#include "calibrate/fit/fits.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

double benchmark_statistic(const struct sample *samples, size_t n_samples, enum samples_statistic statistic)
{
    size_t middle = n_samples / 2;
    if (statistic == STATISTIC_MIN)
        return samples[0].seconds;
    return n_samples % 2 == 1 ? samples[middle].seconds : (samples[middle - 1].seconds + samples[middle].seconds) / 2;
}

static bool is_like(const struct sample *sample, const struct sample *like)
{
    return sample->benchmark == like->benchmark && sample->variant == like->variant && sample->level == like->level &&
           sample->n == like->n && (like->count == 0 || sample->count == like->count);
}

int benchmark_points_make(const struct samples *samples, const struct sample *like, enum samples_statistic statistic,
                          double from_bytes, struct benchmark_points *points)
{
    *points = (struct benchmark_points){
        .bytes = calloc(samples->n_samples + 1, sizeof *points->bytes),
        .seconds = calloc(samples->n_samples + 1, sizeof *points->seconds),
        .counts = calloc(samples->n_samples + 1, sizeof *points->counts),
    };
    if (points->bytes == NULL || points->seconds == NULL || points->counts == NULL) {
        benchmark_points_release(points);
        return -1;
    }
    for (size_t i = 0, end; i < samples->n_samples; i = end) {
        const struct sample *first = &samples->samples[i];
        bool wanted = is_like(first, like);
        for (end = i + 1; wanted && end < samples->n_samples; end++)
            if (!is_like(&samples->samples[end], like) || samples->samples[end].bytes != first->bytes)
                break;
        if (!wanted || (double)first->bytes < from_bytes)
            continue;
        points->bytes[points->n_points] = (double)first->bytes;
        points->counts[points->n_points] = end - i;
        points->seconds[points->n_points++] = benchmark_statistic(first, end - i, statistic);
        points->n_samples += end - i;
    }
    return 0;
}

void benchmark_points_keep(struct benchmark_points *points, const struct machine_protocols *protocols,
                           enum machine_protocol protocol)
{
    size_t kept = 0;
    points->n_samples = 0;
    for (size_t i = 0; i < points->n_points; i++) {
        if (machine_protocol_of(protocols, (uint64_t)points->bytes[i]) != protocol)
            continue;
        points->n_samples += points->counts[i];
        points->bytes[kept] = points->bytes[i];
        points->seconds[kept] = points->seconds[i];
        points->counts[kept++] = points->counts[i];
    }
    points->n_points = kept;
}

void benchmark_points_release(struct benchmark_points *points)
{
    free(points->bytes);
    free(points->seconds);
    free(points->counts);
    *points = (struct benchmark_points){0};
}

struct line_value benchmark_rate(uint64_t n, const struct line_value *slope)
{
    return (struct line_value){
        .value = (double)n / slope->value,
        .low = (double)n / slope->high,
        .high = slope->low > 0 ? (double)n / slope->low : NAN,
    };
}

void benchmark_method(const struct fit_options *options, enum line_kind kind, char method[24])
{
    static const char *const suffix[] = {[LINE_PLAIN] = "",
                                         [LINE_THROUGH_ORIGIN] = "-origin",
                                         [LINE_FLAT] = "-flat",
                                         [LINE_SHARED] = "-shared",
                                         [LINE_FLOOR] = "-floor"};
    snprintf(method, 24, "%s-%s%s", options->method == LINE_RELATIVE ? "relative" : "ols",
             options->statistic == STATISTIC_MEDIAN ? "median" : "min", suffix[kind]);
}

double benchmark_finite(double value)
{
    return isfinite(value) ? value : NAN;
}

int benchmark_append(struct machine *machine, enum level level, enum machine_protocol protocol, const char *quantity,
                     uint64_t n, const struct line_value *value, const char *unit, size_t n_samples, const char *method)
{
    struct machine_parameter row = {
        .level = level,
        .protocol = protocol,
        .n = n,
        .value = value->value,
        .ci_low = benchmark_finite(value->low),
        .ci_high = benchmark_finite(value->high),
        .samples = n_samples,
    };
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    snprintf(row.method, sizeof row.method, "%s", method);
    return machine_append(machine, &row);
}

void benchmark_note(FILE *notes, const char *format, ...)
{
    if (notes == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(notes, format, arguments);
    fputc('\n', notes);
    va_end(arguments);
}
