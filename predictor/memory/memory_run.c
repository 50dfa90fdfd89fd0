/* A prediction of memory contention takes a table alone, neither trace nor pattern; so it has a way of its own through
 * `mpistair predict`. */
#include "predictor/memory/memory_run.h"

#include <string.h>

#include "predictor/memory/memory_choice.h"
#include "predictor/memory/memory_mape.h"
#include "predictor/memory/memory_plot.h"
#include "predictor/memory/memory_show.h"
#include "share/base/output_file.h"

/* Holds what is predicted, and what it is held against. */
struct job {
    const struct predict_options *options;
    const struct machine *machine;
    struct memory_model model;
    struct memory_samples samples; /* empty without --samples */
    struct memory_choice choice;
};

static int show_rows(FILE *stream, const struct job *job, struct error *error)
{
    if (job->options->format == FORMAT_CSV)
        return memory_show_csv(stream, &job->model, &job->choice);
    if (job->options->format == FORMAT_JSON)
        return memory_show_json(stream, &job->model, &job->choice, error);
    return memory_show_text(stream, &job->model, job->machine->name, &job->choice, MEMORY_NUMA_NODES);
}

static int show_mapes(FILE *stream, const struct job *job, struct error *error)
{
    struct memory_mapes mapes;
    memory_mapes_compute(&job->model, &job->samples, &job->choice, &mapes);
    if (job->choice.n_left_out > 0)
        fprintf(
            stderr,
            "mpistair: note: %zu medians of %s are of placements for which the table of '%s' lacks a side; they were "
            "left out\n",
            job->choice.n_left_out, job->options->memory.samples, job->machine->name);
    if (job->options->format == FORMAT_CSV)
        return memory_mapes_show_csv(stream, &mapes, job->machine->name);
    if (job->options->format == FORMAT_JSON)
        return memory_mapes_show_json(stream, &mapes, job->machine->name, error);
    return memory_mapes_show_text(stream, &mapes, job->machine->name);
}

static int print(const struct job *job, struct error *error)
{
    bool measured = job->options->memory.samples != NULL;
    struct output_file output;
    if (output_file_open(&output, job->options->output, error) != 0)
        return -1;
    if ((measured ? show_mapes : show_rows)(output.stream, job, error) == 0)
        return output_file_commit(&output, error);
    output_file_discard(&output);
    return -1;
}

static int choose(struct job *job, struct error *error)
{
    const struct memory_options *options = &job->options->memory;
    const char *name = job->machine->name;
    if (options->samples == NULL)
        return memory_choice_make(&job->model, name, options, "--compute-cores", &job->choice, error);
    if (memory_samples_read_csv(options->samples, &job->samples, error) != 0)
        return -1;
    return memory_choice_measured(&job->model, name, options, options->samples, &job->samples, &job->choice, error);
}

static int run(struct job *job, struct error *error)
{
    const char *plot = job->options->memory.plot;
    const struct memory_samples *samples = job->options->memory.samples != NULL ? &job->samples : NULL;
    if (memory_model_read(job->machine, &job->model, error) != 0 || choose(job, error) != 0)
        return -1;
    if (job->model.cpu_copy)
        fprintf(stderr,
                "mpistair: note: the table of '%s' was measured with messages that a processor copied (cpu-copy): it "
                "applies only to messages within a node\n",
                job->machine->name);
    if (plot != NULL && memory_plot(job->machine, &job->model, &job->choice, samples, plot, error) != 0)
        return -1;
    return plot != NULL && strcmp(plot, "-") == 0 ? 0 : print(job, error);
}

int memory_run(const struct predict_options *options, struct error *error)
{
    struct machine machine;
    struct job job = {.options = options, .machine = &machine};
    if (machine_find(options->machine, &machine, error) != 0)
        return -1;
    int result = run(&job, error);
    memory_choice_release(&job.choice);
    memory_samples_release(&job.samples);
    machine_release(&machine);
    return result;
}
