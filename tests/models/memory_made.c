/* The samples go through a file, so that all that reads and fits them is in the way. */
#include "tests/models/memory_made.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/fit/fit_memory.h"
#include "calibrate/machine/machine.h"

#include <cmocka.h> /* last: it defines fail as a macro */

static double uniform(struct twister *random, double low, double high)
{
    return low + (high - low) * twister_uniform(random);
}

/* Puts the same parameters on both sides, so that either gives the curves. */
void made_curves(const struct memory_side *side, uint32_t cores, struct made_curve *curve)
{
    const struct memory_model model = {.local = *side, .remote = *side, .numa_nodes = 1, .cores = cores};
    for (uint32_t n = 1; n <= cores; n++) {
        struct memory_bandwidth together;
        memory_predict(&model, n, 0, 0, &together);
        curve->alone[n] = together.computation_alone;
        curve->total[n] = together.computation + together.message;
        curve->message[n] = together.message;
    }
}

uint32_t made_first_of_largest(const double *values, uint32_t cores, double tie)
{
    double largest = 0;
    for (uint32_t n = 1; n <= cores; n++)
        largest = fmax(largest, values[n]);
    uint32_t n = 1;
    while (values[n] < largest * (1 - tie))
        n++;
    return n;
}

/* Says whether D 3.1 reads these parameters from their own curves. */
static bool shows_itself(const struct memory_side *side, uint32_t cores)
{
    static struct made_curve curve;
    double least = side->message;
    made_curves(side, cores, &curve);
    uint32_t par = made_first_of_largest(curve.total, cores, 1e-9),
             seq = made_first_of_largest(curve.alone, cores, 1e-9);
    if (par != (uint32_t)side->cores_par || seq != (uint32_t)side->cores_seq)
        return false;
    for (uint32_t n = 1; n <= cores; n++) {
        least = fmin(least, curve.message[n]);
        if (!(curve.total[n] - curve.message[n] > 0))
            return false;
    }
    return fabs(curve.total[par] / side->total_par - 1) < 1e-9 && fabs(curve.alone[seq] / side->total_seq - 1) < 1e-9 &&
           fabs(curve.total[seq] / side->total_par2 - 1) < 1e-9 && fabs(least / side->message / side->alpha - 1) < 1e-9;
}

/* Draws a side in the ranges of D's tables, until it is one that shows itself. */
static struct memory_side draw_side(struct twister *random, uint32_t cores)
{
    struct memory_side side;
    double ratio;
    do {
        double further = twister_uniform(random) < 0.5 ? 0 : (double)(1 + twister_below(random, 6));
        side.cores_seq = (double)(4 + twister_below(random, cores - 3));
        side.cores_par = side.cores_seq - further;
        side.computation = uniform(random, 2200e6, 7200e6);
        side.message = uniform(random, 4400e6, 22400e6);
        side.alpha = twister_uniform(random) < 0.1 ? 1 : uniform(random, 0.27, 1);
        side.loss_left = further > 0 ? uniform(random, 0, 0.21) * side.computation : 0;
        side.loss_right = side.cores_seq < cores ? uniform(random, -0.005, 0.1) * side.computation : 0;
        side.total_seq = (side.cores_seq - twister_uniform(random)) * side.computation;
        side.total_par = (side.cores_par - twister_uniform(random)) * side.computation + side.message;
        side.total_par2 = side.total_par - further * side.loss_left;
        ratio = side.total_par / side.total_seq;
    } while (!(side.cores_par >= 1 && ratio > 0.95 && ratio < 1.35 && shows_itself(&side, cores)));
    return side;
}

struct memory_model made_draw(struct twister *random)
{
    struct memory_model model = {.numa_nodes = 1, .cores = (uint32_t)(14 + twister_below(random, 19))};
    model.local = draw_side(random, model.cores);
    model.remote = draw_side(random, model.cores);
    return model;
}

bool made_is_measured(const struct made_measuring *measuring, const struct memory_side *side, uint32_t cores,
                      uint32_t n)
{
    return !measuring->skips_beyond_peak || n <= (uint32_t)side->cores_seq + 1 || n == cores;
}

static void write_samples(FILE *file, const struct made_measuring *measuring, const char *variant, uint32_t n,
                          const char *places, double bytes_per_s)
{
    for (int i = 0; i < MEMORY_SAMPLES; i++)
        fprintf(file, "memory_contention,%s,inter_node,67108864,%u,%.17g,1,%s\n", variant, n,
                67108864 / bytes_per_s * (1 + twister_gaussian(measuring->random, measuring->noise)), places);
}

static void measure_side(FILE *file, const struct made_measuring *measuring, const struct memory_side *side,
                         uint32_t cores, uint32_t numa)
{
    static struct made_curve curve;
    char computing[32], message[32], both[32];
    made_curves(side, cores, &curve);
    snprintf(computing, sizeof computing, "%u,", numa);
    snprintf(message, sizeof message, ",%u", numa);
    snprintf(both, sizeof both, "%u,%u", numa, numa);
    write_samples(file, measuring, "message_alone", 0, message, side->message);
    for (uint32_t n = 1; n <= cores; n++) {
        if (!made_is_measured(measuring, side, cores, n))
            continue;
        write_samples(file, measuring, "computation_alone", n, computing, curve.alone[n]);
        write_samples(file, measuring, "computation", n, both, curve.total[n] - curve.message[n]);
        write_samples(file, measuring, "message", n, both, curve.message[n]);
    }
}

/* Takes the intervals of the losses from the rows of a level. */
static struct made_intervals intervals_of(const struct machine *machine, enum level level)
{
    struct made_intervals intervals = {{NAN, NAN}, {NAN, NAN}};
    for (size_t i = 0; i < machine->n_parameters; i++) {
        const struct machine_parameter *row = &machine->parameters[i];
        for (int k = 0; k < 2 && row->level == level; k++)
            if (strcmp(row->quantity, memory_quantity_name[MEMORY_LOSS_LEFT + k]) == 0) {
                intervals.low[k] = row->ci_low;
                intervals.high[k] = row->ci_high;
            }
    }
    return intervals;
}

/* Writes the samples of a platform into a file of its own, whose path it makes of the pattern. */
static void measure(const struct made_measuring *measuring, const struct memory_model *model, char *path)
{
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fprintf(file, "# memory cores %u\n# memory numa_nodes 1\n# memory numa_all 2\n# memory method nic\n", model->cores);
    fprintf(file, "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa\n");
    measure_side(file, measuring, &model->local, model->cores, 0);
    measure_side(file, measuring, &model->remote, model->cores, 1);
    assert_int_equal(fclose(file), 0);
}

struct made_fit made_fitted(const struct made_measuring *measuring, const struct memory_model *model)
{
    char path[] = "/tmp/mpistair-test-XXXXXX";
    struct memory_samples samples;
    struct made_fit fit = {.model = {.cores = 0}};
    struct machine machine = {.name = "made", .source = "a test"};
    struct error error = {.text = ""};
    measure(measuring, model, path);
    int result = memory_samples_read_csv(path, &samples, &error);
    unlink(path);
    if (result != 0 || fit_memory(&samples, &machine, NULL, &error) != 0 ||
        memory_model_read(&machine, &fit.model, &error) != 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < machine.n_parameters; i++)
        if (machine_check_parameter(&machine.parameters[i], &error) != 0)
            fail_msg("%s", error.text);
    fit.local = intervals_of(&machine, LEVEL_INTRA_SOCKET);
    fit.remote = intervals_of(&machine, LEVEL_INTER_SOCKET);
    memory_samples_release(&samples);
    machine_release(&machine);
    return fit;
}
