/* Provides what benchmarks ask of the program that leads them (measure.h): rows of the CSV, places in the long buffers.
 */
#include "calibrate/measure/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/measure/mpi_job.h"
#include "calibrate/measure/shared_clock.h"

enum { CACHE_LINE = 64 };

void measure_write(const struct measure *measure, const struct benchmark_program *program, const struct item *item,
                   int repeats, double seconds)
{
    char waited[16] = "";
    if (!isnan(measure->waited))
        snprintf(waited, sizeof waited, "%.3f", measure->waited);
    printf("%s,%s,%s,%llu,%llu,%d,%.9g,%u,%s,%s,%d,%s,%.3f\n", benchmark_of(program, item->part)->name, item->variant,
           level_name[item->level], (unsigned long long)item->bytes, (unsigned long long)item->n, item->count, seconds,
           measure->launch, item->ranks, item->domain != NULL ? item->domain : "", repeats, waited,
           clock_now_s() - measure->begin_s);
}

size_t measure_resumed(const struct measure *measure, const struct item *item, double *seconds, size_t max)
{
    const char *name = benchmark_of(measure->program, item->part)->name;
    size_t found = 0;
    for (size_t i = 0; i < measure->resume.n_rows; i++) {
        const struct resume_row *row = &measure->resume.rows[i];
        if (row->bytes != item->bytes || row->n != item->n || row->level != item->level ||
            row->count != (uint64_t)item->count || strcmp(row->benchmark, name) != 0 ||
            strcmp(row->ranks, item->ranks) != 0 || strcmp(row->variant, item->variant) != 0 ||
            strcmp(row->domain, item->domain != NULL ? item->domain : "") != 0)
            continue;
        if (found < max)
            seconds[found] = row->seconds;
        found++;
    }
    return found;
}

size_t measure_places(struct measure *measure, uint64_t bytes, int n, size_t *place)
{
    size_t stride = ((size_t)bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (bytes > measure->buffer_bytes)
        abort_all("a message of %llu bytes, buffers of %zu; use --buffer", (unsigned long long)bytes,
                  measure->buffer_bytes);
    if (n > 1 && stride * (size_t)n > measure->buffer_bytes)
        stride = (measure->buffer_bytes - (size_t)bytes) / (size_t)(n - 1);
    size_t used = stride * (size_t)(n - 1) + (size_t)bytes;
    if (measure->cached || measure->cursor + used > measure->buffer_bytes)
        measure->cursor = 0;
    *place = measure->cursor;
    measure->cursor += stride * (size_t)n;
    return stride;
}
