/* What the fits of the single benchmarks share: a statistic, a row, a note. */
#include "benchmarks.h"

#include <stdarg.h>

double benchmark_statistic(const struct sample *samples, size_t n_samples, enum samples_statistic statistic)
{
    size_t middle = n_samples / 2;
    if (statistic == STATISTIC_MIN)
        return samples[0].seconds;
    return n_samples % 2 == 1 ? samples[middle].seconds : (samples[middle - 1].seconds + samples[middle].seconds) / 2;
}

int benchmark_append(struct machine *machine, enum machine_level level, enum machine_protocol protocol,
                     const char *quantity, uint64_t n, const struct line_value *value, const char *unit,
                     size_t n_samples, const char *method)
{
    struct machine_parameter row = {
        .level = level,
        .protocol = protocol,
        .n = n,
        .value = value->value,
        .ci_low = value->low,
        .ci_high = value->high,
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
