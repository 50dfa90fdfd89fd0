/* The iterations of both ways come in pairs that saw the same arrivals. Times are medians with order statistics as
 * bounds. The speed-up, 100 (BSP - fine) / BSP of the medians, has no such bounds: pairs are drawn again, with
 * replacement, and the interval holds 95 % of the speed-ups of those. */
#include "calibrate/finegrain/finegrain_row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/csv.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"
#include "share/base/random.h"
#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "share/base/array.h"

enum { REPLICATES_MOST = 1000, REPLICATES_LEAST = 100, DRAWS_MOST = 20000000, PAIRS_LEAST = 6 };

void finegrain_samples_release(struct finegrain_samples *samples)
{
    free(samples->samples);
    *samples = (struct finegrain_samples){0};
}

/* Values by number of the pair, and room to sort them; all are in one piece, which begins at bsp. */
struct pairs {
    double *bsp, *fine;                           /* [n] */
    double *oversleep, *median_oversleep, *delay; /* [2n] in the order of the samples */
    double *sorted;                               /* [2n] */
    size_t n;
};

static int pairs_make(const struct finegrain_config *config, const struct finegrain_samples *samples,
                      struct pairs *pairs, struct error *error)
{
    size_t n = config->trials * config->iterations;
    double *room = xcalloc(10 * n, sizeof *room);
    *pairs = (struct pairs){room, room + n, room + 2 * n, room + 4 * n, room + 6 * n, room + 8 * n, n};
    for (size_t i = 0; i < samples->n; i++) {
        const struct finegrain_sample *sample = &samples->samples[i];
        uint64_t number = (sample->trial - 1) * config->iterations + sample->iteration - 1;
        double *way = sample->is_fine ? pairs->fine : pairs->bsp;
        if (i >= 2 * n || sample->trial - 1 >= config->trials || sample->iteration - 1 >= config->iterations ||
            way[number] > 0 || !(sample->seconds > 0))
            return error_set(error, "trial %llu, iteration %llu of the benchmark: expected once, with seconds above 0",
                             (unsigned long long)sample->trial, (unsigned long long)sample->iteration);
        way[number] = sample->seconds;
        pairs->oversleep[i] = sample->oversleep_s;
        pairs->median_oversleep[i] = sample->median_oversleep_s;
        pairs->delay[i] = sample->delay_s;
    }
    if (samples->n != 2 * n)
        return error_set(error, "only %zu of %zu iterations arrived: the program under the launcher ended early",
                         samples->n, 2 * n);
    return 0;
}

static struct finegrain_bounded bounded_median(const double *values, size_t n, double *sorted)
{
    struct finegrain_bounded bounded = {.low = NAN, .high = NAN};
    memcpy(sorted, values, n * sizeof *sorted);
    sort_doubles(sorted, n);
    bounded.value = sorted_median(sorted, n);
    if (!sorted_median_interval(sorted, n, &bounded.low, &bounded.high))
        bounded.low = bounded.high = NAN;
    return bounded;
}

static double speedup(double bsp_s, double fine_s)
{
    return 100 * (bsp_s - fine_s) / bsp_s;
}

/* Bounds the speed-up by drawing pairs again. */
static void bound_speedup(const struct pairs *pairs, uint64_t seed, struct finegrain_bounded *bounded)
{
    size_t n = pairs->n, n_replicates = DRAWS_MOST / n;
    n_replicates = n_replicates > REPLICATES_MOST    ? REPLICATES_MOST
                   : n_replicates < REPLICATES_LEAST ? REPLICATES_LEAST
                                                     : n_replicates;
    bounded->low = bounded->high = NAN;
    if (n < PAIRS_LEAST)
        return;
    struct twister random;
    double *replicates = xcalloc(n_replicates, sizeof *replicates);
    double *bsp = pairs->sorted, *fine = pairs->sorted + n;
    twister_seed(&random, seed);
    for (size_t i = 0; i < n_replicates; i++) {
        for (size_t j = 0; j < n; j++) {
            size_t drawn = twister_below(&random, n);
            bsp[j] = pairs->bsp[drawn];
            fine[j] = pairs->fine[drawn];
        }
        replicates[i] = speedup(unsorted_median(bsp, n), unsorted_median(fine, n));
    }
    sort_doubles(replicates, n_replicates);
    bounded->low = sorted_quantile(replicates, n_replicates, 0.025);
    bounded->high = sorted_quantile(replicates, n_replicates, 0.975);
    free(replicates);
}

/* Judges the oversleep. */
static void judge(const struct pairs *pairs, struct finegrain_row *row)
{
    double delay_s = bounded_median(pairs->delay, 2 * pairs->n, pairs->sorted).value;
    row->oversleep_s = bounded_median(pairs->oversleep, 2 * pairs->n, pairs->sorted).value;
    row->median_oversleep_s = bounded_median(pairs->median_oversleep, 2 * pairs->n, pairs->sorted).value;
    if (delay_s > 0 && row->oversleep_s > FINEGRAIN_OVERSLEEP_MOST * delay_s)
        snprintf(row->void_reason, sizeof row->void_reason,
                 "the last arrival overslept %.3g us: more than a tenth of its delay of %.4g us",
                 1e6 * row->oversleep_s, 1e6 * delay_s);
}

int finegrain_row_make(const struct finegrain_config *config, const char *mpi, const struct finegrain_samples *samples,
                       struct finegrain_row *row, struct error *error)
{
    struct pairs pairs;
    *row = (struct finegrain_row){
        .config = config, .mpi = mpi, .ranks = samples->ranks, .buffers_per_rank = samples->buffers_per_rank};
    int result = pairs_make(config, samples, &pairs, error);
    if (result == 0) {
        row->bsp_s = bounded_median(pairs.bsp, pairs.n, pairs.sorted);
        row->fine_s = bounded_median(pairs.fine, pairs.n, pairs.sorted);
        row->speedup_percent.value = speedup(row->bsp_s.value, row->fine_s.value);
        judge(&pairs, row);
        bound_speedup(&pairs, config->seed, &row->speedup_percent);
    }
    free(pairs.bsp);
    return result;
}

/* Writes a number, or nothing where there is none. */
static void write_real(FILE *stream, double value)
{
    if (isfinite(value))
        fprintf(stream, ",%.9g", value);
    else
        fputc(',', stream);
}

static void write_bounded(FILE *stream, const struct finegrain_bounded *bounded)
{
    write_real(stream, bounded->value);
    write_real(stream, bounded->low);
    write_real(stream, bounded->high);
}

static const char *rma_of(const struct finegrain_config *config)
{
    return config->interface == FINEGRAIN_RMA ? finegrain_rma_word[config->rma] : "";
}

void finegrain_row_write_csv(FILE *stream, const struct finegrain_row *row)
{
    const struct finegrain_config *config = row->config;
    fprintf(stream, "%s,%s,%s,%d,%lu,%llu,%llu,%llu,%llu,%.9g,", finegrain_interface_word[config->interface],
            rma_of(config), row->mpi, row->ranks, row->buffers_per_rank, (unsigned long long)config->peers,
            (unsigned long long)config->bytes, (unsigned long long)config->threads, (unsigned long long)config->parts,
            config->compute_s);
    csv_text(stream, config->arrivals);
    fprintf(stream, ",%llu,%llu,%llu", (unsigned long long)config->seed, (unsigned long long)config->trials,
            (unsigned long long)config->iterations);
    write_bounded(stream, &row->bsp_s);
    write_bounded(stream, &row->fine_s);
    write_bounded(stream, &row->speedup_percent);
    write_real(stream, row->oversleep_s);
    fprintf(stream, ",%s\n", row->void_reason);
}

static void print_bounded(FILE *stream, const char *what, const struct finegrain_bounded *bounded, double scale,
                          const char *unit)
{
    fprintf(stream, "%-10s %10.3f %s", what, scale * bounded->value, unit);
    if (isfinite(bounded->low))
        fprintf(stream, "  (%.3f to %.3f)", scale * bounded->low, scale * bounded->high);
    fputc('\n', stream);
}

void finegrain_row_write_text(FILE *stream, const struct finegrain_row *row)
{
    const struct finegrain_config *config = row->config;
    const char *interface = finegrain_interface_word[config->interface];
    fprintf(stream, "%s, %d ranks, %llu peers, %llu bytes a peer in %llu parts, %llu threads\n", row->mpi, row->ranks,
            (unsigned long long)config->peers, (unsigned long long)config->bytes, (unsigned long long)config->parts,
            (unsigned long long)config->threads);
    fprintf(stream, "%llu x %llu iterations of either way, %.9g s of computation, arrivals %s\n\n",
            (unsigned long long)config->trials, (unsigned long long)config->iterations, config->compute_s,
            config->arrivals);
    print_bounded(stream, "BSP", &row->bsp_s, 1e3, "ms");
    print_bounded(stream, interface, &row->fine_s, 1e3, "ms");
    print_bounded(stream, "speed-up", &row->speedup_percent, 1, "% ");
    fprintf(stream, "\nOverslept: the last thread %.3g us, all threads %.3g us in the middle.\n",
            1e6 * row->oversleep_s, 1e6 * row->median_oversleep_s);
    if (row->buffers_per_rank > 1)
        fprintf(stream, "Folded: up to %lu buffers of a rank go to the same one.\n", row->buffers_per_rank);
    if (row->void_reason[0] != '\0')
        fprintf(stream, "Void: %s.\n", row->void_reason);
}

static void add_bounded(struct json *object, const char *name, const char *unit,
                        const struct finegrain_bounded *bounded)
{
    static const char *const bounds[] = {"", "_low", "_high"};
    const double values[] = {bounded->value, bounded->low, bounded->high};
    for (int i = 0; i < 3; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s%s_%s", name, bounds[i], unit);
        json_set(object, key, json_finite(values[i]));
    }
}

int finegrain_row_write_json(FILE *stream, const struct finegrain_row *row, struct error *error)
{
    const struct finegrain_config *config = row->config;
    struct json *object = json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "interface",
        finegrain_interface_word[config->interface], "rma", rma_of(config), "mpi", row->mpi, "ranks", row->ranks,
        "buffers_per_rank", json_count(row->buffers_per_rank), "peers", json_count(config->peers), "bytes",
        json_count(config->bytes), "threads", json_count(config->threads), "parts", json_count(config->parts),
        "compute_s", json_finite(config->compute_s), "arrivals", config->arrivals, "seed", json_count(config->seed),
        "trials", json_count(config->trials), "iterations", json_count(config->iterations));
    add_bounded(object, "bsp", "s", &row->bsp_s);
    add_bounded(object, "fine", "s", &row->fine_s);
    add_bounded(object, "speedup", "percent", &row->speedup_percent);
    json_set(object, "oversleep_s", json_finite(row->oversleep_s));
    json_set(object, "median_oversleep_s", json_finite(row->median_oversleep_s));
    json_set(object, "void", json_string(row->void_reason));
    return json_write(stream, object, error);
}

void finegrain_samples_write(FILE *stream, const struct finegrain_samples *samples)
{
    fputs(FINEGRAIN_RAW_HEADER "\n", stream);
    for (size_t i = 0; i < samples->n; i++) {
        const struct finegrain_sample *sample = &samples->samples[i];
        fprintf(stream, "%llu,%llu,%s,%.9g,%.9g,%.9g\n", (unsigned long long)sample->trial,
                (unsigned long long)sample->iteration, sample->is_fine ? "fine" : "bsp", sample->seconds,
                sample->last_arrival_s, sample->oversleep_s);
    }
}

/* The program prints a row an iteration, and notes which MPI it runs on, or why it refuses. Other output, of launchers
 * and of the MPI, is held back and shown only where the program gives no reason itself. */

/* Time limit of a run: for its start, and for each iteration a fixed time, ten times the computation, and its bytes at
 * the least rate. */
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

/* Takes a row of FINEGRAIN_SAMPLES_HEADER (finegrain_program.c). Returns whether the line is one. */
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
    if (strncmp(line, MEASURE_NOTE, sizeof MEASURE_NOTE - 1) == 0) {
        take_note(hearing, line + sizeof MEASURE_NOTE - 1);
    } else if (stream == CHILD_OUT && whole && take_row(line, &sample)) {
        ARRAY_ADD(samples->samples, samples->n, sample);
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
