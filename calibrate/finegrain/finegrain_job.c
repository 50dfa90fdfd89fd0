/* The program prints a row an iteration and tells in notes who it is, or why it refuses. What else comes, of
 * launchers and of the MPI, is kept back and shown where the program has not told what is wrong itself. */
#include "calibrate/finegrain/finegrain_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Bound what a run may take: so long for its start, and for each iteration so long, ten times the computation, and
 * its bytes at the least rate. */
#define START_S         120.0
#define LEAST_BYTES_S   10e6
#define ITERATION_S     0.05
#define ARRIVALS_FACTOR 10

#define FIXED "fixed:"

struct hearing {
    struct finegrain_samples *samples;
    int refused; /* the exit code; 0: it has not refused */
    struct error reason;
    FILE *said;
};

static void take_note(struct hearing *hearing, const char *note)
{
    int length = 0;
    if (sscanf(note, "ranks %d", &hearing->samples->ranks) == 1 ||
        sscanf(note, "buffers_per_rank %lu", &hearing->samples->buffers_per_rank) == 1)
        return;
    if (hearing->refused == 0 && sscanf(note, "refused %d %n", &hearing->refused, &length) == 1)
        error_set(&hearing->reason, "%s", note + length);
}

/* Takes a row of FINEGRAIN_SAMPLES_HEADER (finegrain_measure.h). Returns whether the line is one. */
static bool take_row(const char *line, struct finegrain_sample *sample)
{
    unsigned long long trial, iteration;
    char way[8] = "";
    int length = -1;
    sscanf(line, "%llu,%llu,%7[a-z],%lf,%lf,%lf,%lf,%lf%n", &trial, &iteration, way, &sample->seconds,
           &sample->last_arrival_s, &sample->oversleep_s, &sample->delay_s, &sample->median_oversleep_s, &length);
    if (length < 0 || line[length] != '\0' || (strcmp(way, "fine") != 0 && strcmp(way, "bsp") != 0))
        return false;
    sample->trial = trial;
    sample->iteration = iteration;
    sample->is_fine = strcmp(way, "fine") == 0;
    return true;
}

static int hear(void *context, enum child_stream stream, const char *line, bool whole, struct error *error)
{
    (void)error;
    struct hearing *hearing = context;
    struct finegrain_samples *samples = hearing->samples;
    struct finegrain_sample sample = {0};
    if (strncmp(line, LAUNCH_NOTE, sizeof LAUNCH_NOTE - 1) == 0) {
        take_note(hearing, line + sizeof LAUNCH_NOTE - 1);
    } else if (stream == CHILD_OUT && whole && take_row(line, &sample)) {
        array_grow(&samples->samples, samples->n, sizeof *samples->samples);
        samples->samples[samples->n++] = sample;
    } else if (strncmp(line, "trial,", 6) != 0) {
        fprintf(hearing->said, "%s\n", line);
    }
    return 0;
}

static double limit_s(const struct finegrain_config *config)
{
    double bytes = (double)config->peers * (double)config->bytes;
    double iteration_s = ITERATION_S + ARRIVALS_FACTOR * config->compute_s + bytes / LEAST_BYTES_S;
    return START_S + 2 * (double)config->trials * (double)config->iterations * iteration_s;
}

/* Returns the arrivals of a config as the program takes them, for free(); of a trace as fixed:FILE with a new file,
 * which the caller removes. NULL with the reason. */
static char *program_arrivals(const struct finegrain_config *config, bool *is_file, struct error *error)
{
    struct arrivals_request request;
    if (arrivals_parse(config->arrivals, &request, error) != 0)
        return NULL;
    *is_file = request.kind == ARRIVAL_TRACE;
    if (!*is_file)
        return xstrdup(config->arrivals);
    char *path = arrivals_trace_keep(request.path, ".", error);
    char *words = path != NULL ? xasprintf(FIXED "%s", path) : NULL;
    free(path);
    return words;
}

int finegrain_job_run(const struct launcher *launcher, const struct finegrain_config *config,
                      struct finegrain_samples *samples, int *code, struct error *error)
{
    struct finegrain_words words;
    char *said = NULL;
    size_t size = 0;
    bool is_file;
    *samples = (struct finegrain_samples){0};
    *code = EXIT_WORK_FAILED;
    char *arrivals = program_arrivals(config, &is_file, error);
    if (arrivals == NULL)
        return -1;
    struct hearing hearing = {.samples = samples, .said = or_no_memory(open_memstream(&said, &size))};
    const struct child_listener listener = {.line = hear, .context = &hearing};
    finegrain_config_words(config, arrivals, &words);
    int result = launcher_run(launcher, "finegrain", words.words, limit_s(config), &listener, error);
    if (is_file)
        unlink(arrivals + sizeof FIXED - 1);
    free(arrivals);
    fclose(hearing.said);
    if (hearing.refused != 0) {
        *code = hearing.refused;
        result = error_set(error, "%s", hearing.reason.text);
    } else if (said != NULL) {
        fputs(said, stderr);
    }
    if (result != 0 && child_interrupted() != 0)
        *code = 128 + child_interrupted();
    free(said);
    if (result != 0)
        finegrain_samples_release(samples);
    return result;
}
