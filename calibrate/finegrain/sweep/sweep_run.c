/* The order is random, so that what changes on the machine meanwhile falls on all values alike. It is that of the
 * seed whatever is measured already: a sweep that goes on takes the order that it had. */
#include "calibrate/finegrain/sweep/sweep_run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "calibrate/finegrain/sweep/sweep_output.h"
#include "share/base/monotonic.h"
#include "share/base/progress.h"
#include "share/base/random.h"
#include "share/base/memory.h"

/* Returns the numbers of n configurations in random order, for free(). */
static size_t *shuffled(size_t n, uint64_t seed)
{
    size_t *order = xcalloc(n, sizeof *order);
    struct twister random;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    twister_seed(&random, seed);
    twister_shuffle(&random, order, n);
    return order;
}

/* Returns the time that a configuration takes but for its start and its messages. */
static double planned_s(const struct finegrain_config *config)
{
    return 2 * (double)config->trials * (double)config->iterations * config->compute_s;
}

/* Holds what is known of the time of configurations: the excess over what was planned. */
struct estimate {
    double planned_left_s, excess_s; /* excess: of all that were measured */
    size_t n_left, n_measured;
};

/* Shows how much is left. text is borrowed by what shows it. */
static void show_left(const struct estimate *estimate, size_t n, char text[96])
{
    double left_s = estimate->planned_left_s;
    if (estimate->n_measured > 0)
        left_s += estimate->excess_s / (double)estimate->n_measured * (double)estimate->n_left;
    const char *unit = left_s < 120 ? "s" : left_s < 7200 ? "min" : "h";
    double scale = left_s < 120 ? 1 : left_s < 7200 ? 60 : 3600;
    snprintf(text, 96, "finegrain: %zu of %zu configurations, %s%.0f %s left", n - estimate->n_left, n,
             estimate->n_measured > 0 ? "about " : "more than ", left_s / scale, unit);
    progress_show(text);
}

/* Holds arrivals as the program takes them: those of a trace are in a file of their own, `fixed:FILE`, in this
 * folder, where ranks on other nodes find it as well. */
struct program_arrivals {
    char words[PATH_MAX + 16];
    char *path; /* of that file, or NULL */
};

static int arrivals_begin(const struct finegrain_config *config, struct program_arrivals *arrivals, struct error *error)
{
    struct arrivals_request request;
    *arrivals = (struct program_arrivals){.path = NULL};
    if (arrivals_parse(config->arrivals, &request, error) != 0)
        return -1;
    if (request.kind == ARRIVAL_TRACE) {
        arrivals->path = arrivals_trace_keep(request.path, ".", error);
        if (arrivals->path == NULL)
            return -1;
    }
    const char *told = arrivals->path != NULL ? arrivals->path : config->arrivals;
    int length =
        snprintf(arrivals->words, sizeof arrivals->words, "%s%s", arrivals->path != NULL ? "fixed:" : "", told);
    return length < (int)sizeof arrivals->words ? 0 : error_set(error, "--arrivals %.80s...: too long", told);
}

static void arrivals_end(struct program_arrivals *arrivals)
{
    if (arrivals->path != NULL)
        unlink(arrivals->path);
    free(arrivals->path);
}

static int measure(const struct launcher *launcher, const struct finegrain_config *config, struct sweep_output *output,
                   size_t number, int *code, struct error *error)
{
    struct finegrain_samples samples = {0};
    struct finegrain_row row;
    struct program_arrivals arrivals;
    int result = arrivals_begin(config, &arrivals, error);
    if (result == 0)
        result = finegrain_job_run(launcher, config, arrivals.words, &samples, code, error);
    arrivals_end(&arrivals);
    if (result == 0)
        result = finegrain_row_make(config, launcher->mpi, &samples, &row, error);
    if (result == 0)
        result = sweep_output_add(output, number, &row, error);
    finegrain_samples_release(&samples);
    return result;
}

/* Adds to the error which configuration it was, and that what is measured stays. */
static int tell_where(const struct finegrain_config *config, const struct sweep_output *output, size_t n,
                      struct error *error)
{
    struct error reason = *error;
    return error_set(error,
                     "--interface %s --peers %llu --bytes %llu --threads %llu --parts %llu --arrivals %.80s: %.600s "
                     "(%zu of %zu rows are in %.100s; the same command goes on)",
                     finegrain_interface_word[config->interface], (unsigned long long)config->peers,
                     (unsigned long long)config->bytes, (unsigned long long)config->threads,
                     (unsigned long long)config->parts, config->arrivals, reason.text, output->n_done, n, output->path);
}

static int measure_all(const struct sweep *sweep, const struct launcher *launcher, struct sweep_output *output,
                       const size_t *order, int *code, struct error *error)
{
    struct estimate estimate = {.n_left = sweep->n - output->n_done};
    char text[96];
    int result = 0;
    for (size_t i = 0; i < sweep->n; i++)
        estimate.planned_left_s += output->done[i] ? 0 : planned_s(&sweep->configs[i]);
    for (size_t i = 0; result == 0 && i < sweep->n; i++) {
        const struct finegrain_config *config = &sweep->configs[order[i]];
        if (output->done[order[i]])
            continue;
        show_left(&estimate, sweep->n, text);
        double begin_s = clock_now_s();
        result = measure(launcher, config, output, order[i], code, error);
        if (result != 0)
            result = tell_where(config, output, sweep->n, error);
        estimate.excess_s += clock_now_s() - begin_s - planned_s(config);
        estimate.planned_left_s -= planned_s(config);
        estimate.n_measured++;
        estimate.n_left--;
    }
    progress_show(NULL);
    return result;
}

static int run(const struct sweep *sweep, uint64_t seed, const struct launcher *launcher, const char *path, int *code,
               struct error *error)
{
    struct sweep_output output;
    if (sweep_output_open(&output, path, sweep, launcher->mpi, error) != 0)
        return -1;
    size_t before = output.n_done, *order = shuffled(sweep->n, seed);
    int result = order == NULL ? error_set(error, "no memory for %zu configurations", sweep->n)
                               : measure_all(sweep, launcher, &output, order, code, error);
    if (result == 0)
        fprintf(stderr, "mpistair: %s: %zu configurations, %zu of them measured before, %zu void\n", path, sweep->n,
                before, output.n_void);
    free(order);
    sweep_output_close(&output);
    return result;
}

int sweep_run(const char *sweep_file, const struct finegrain_config *base, struct launcher *launcher, const char *path)
{
    struct sweep sweep;
    struct error error;
    int code = EXIT_WORK_FAILED;
    if (sweep_read(sweep_file, base, &sweep, &error) != 0) {
        error_report(&error);
        return EXIT_WRONG_USAGE;
    }
    if (sweep.n_unfit > 0)
        fprintf(stderr, "mpistair: %s: %zu combinations are left out, as their values do not fit each other: %s\n",
                sweep_file, sweep.n_unfit, sweep.unfit.text);
    int result = launcher_identify(launcher, &error);
    if (result == 0)
        result = run(&sweep, base->seed, launcher, path, &code, &error);
    sweep_release(&sweep);
    if (result == 0)
        return EXIT_DONE;
    error_report(&error);
    return code;
}
