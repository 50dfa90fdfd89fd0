/* Settles which panels the picture of a calibration has, and what goes into none: table and samples may each lack what
 * a panel shows. */
#include "calibrate/plot/plot.h"

#include <stdlib.h>

#include "share/base/array.h"
#include "calibrate/plot/plot_page.h"

static void panels_make(struct picture *picture)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        panel_times(picture, (enum level)level);
        panel_bandwidth(picture, (enum level)level);
        panel_domains(picture, (enum level)level);
    }
    panel_injection(picture);
    panel_queue(picture);
    panel_contention(picture);
    panel_outcomes(picture);
}

/* Adds the curve of messages to oneself, which curves_make() leaves out. Returns 0, or -1 without memory. */
static int curves_add_self(const struct samples *samples, struct curves *curves)
{
    struct group group = {0};
    struct curve curve = {.level = LEVEL_SELF, .benchmark = BENCHMARK_SELF, .n = 1};
    if (!group_next(samples, BENCHMARK_SELF, &group) || (curves->n_curves > 0 && curves->curves[0].level == LEVEL_SELF))
        return 0;
    if (array_grow(&curves->curves, curves->n_curves, sizeof *curves->curves) != 0)
        return -1;
    curve.bytes = calloc(samples->n_samples, sizeof *curve.bytes);
    curve.seconds = calloc(samples->n_samples, sizeof *curve.seconds);
    curve.n_samples = calloc(samples->n_samples, sizeof *curve.n_samples);
    curves->curves[curves->n_curves++] = curve;
    if (curve.bytes == NULL || curve.seconds == NULL || curve.n_samples == NULL)
        return -1;
    do {
        const struct sample *sample = &samples->samples[group.first];
        if (sample->level != LEVEL_SELF || sample->n != 1)
            continue;
        size_t point = curves->curves[curves->n_curves - 1].n_points++;
        curve.bytes[point] = (double)sample->bytes;
        curve.seconds[point] = group_median(samples, &group);
        curve.n_samples[point] = group.end - group.first;
    } while (group_next(samples, BENCHMARK_SELF, &group));
    return 0;
}

/* Copies without what no machine gives (years for a message, powers of bytes): one such value would leave the others a
 * point on the axis, or gnuplot without an answer. */
static void believable_copy(const struct machine *machine, const struct samples *samples, struct machine *some_machine,
                            struct samples *some_samples)
{
    *some_machine = *machine;
    some_machine->parameters = NULL;
    some_machine->n_parameters = 0;
    *some_samples = (struct samples){0};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        bool believable = row->value <= 1e18 && (row->value >= 1e-18 || !(row->value > 0)) &&
                          (row->n == MACHINE_NO_N || row->n <= 1000000000);
        if (believable)
            machine_append(some_machine, row);
    }
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        bool believable = sample->seconds >= 1e-12 && sample->seconds <= 1e8 && sample->bytes <= 1ULL << 50 &&
                          sample->n <= 1000000000;
        if (believable)
            samples_append(some_samples, sample);
    }
}

static int draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error)
{
    struct curves curves = curves_make(samples, STATISTIC_MEDIAN);
    struct picture picture = {.machine = machine, .samples = samples, .curves = &curves};
    int result = curves_add_self(samples, &curves) == 0 ? page_begin(&picture, error) : error_set(error, "no memory");
    if (result == 0) {
        panels_make(&picture);
        result = page_end(&picture, "nothing to draw: the table has no tau and bw of a level", path, error);
    }
    curves_release(&curves);
    return result;
}

int plot_draw(const struct machine *machine, const struct samples *samples, const char *path, struct error *error)
{
    struct machine some_machine;
    struct samples some_samples;
    believable_copy(machine, samples, &some_machine, &some_samples);
    int result = draw(&some_machine, &some_samples, path, error);
    machine_release(&some_machine);
    samples_release(&some_samples);
    return result;
}
