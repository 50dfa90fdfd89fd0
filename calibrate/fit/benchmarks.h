/* The fits of benchmarks other than ping-pong and Algorithm 1, one file each, and what they share. */
#ifndef MPISTAIR_CALIBRATE_BENCHMARKS_H
#define MPISTAIR_CALIBRATE_BENCHMARKS_H

#include "fit_machine.h"

fit_benchmark fit_contention;

/* Median or minimum of the seconds of n_samples >= 1 neighbours, sorted by seconds. */
double benchmark_statistic(const struct sample *samples, size_t n_samples, enum samples_statistic statistic);

/* Appends one row. 0, or -1 without memory. */
int benchmark_append(struct machine *machine, enum machine_level level, enum machine_protocol protocol,
                     const char *quantity, uint64_t n, const struct line_value *value, const char *unit,
                     size_t n_samples, const char *method);

/* One line on notes, which may be NULL. */
void benchmark_note(FILE *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
