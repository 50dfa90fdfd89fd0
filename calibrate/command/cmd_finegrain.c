/* Runs `mpistair finegrain`: measures the gain of sending the parts of buffers as they get ready over sending whole
 * buffers when all threads are done. */
#include <stdio.h>
#include <string.h>

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "calibrate/finegrain/finegrain_row.h"
#include "calibrate/finegrain/sweep/sweep.h"
#include "calibrate/command/cmd_machine.h"
#include "share/base/output_file.h"

struct finegrain_request {
    struct finegrain_config config;
    struct launcher launcher;
    const char *output, *raw, *dump; /* raw, dump: NULL where they are not asked for */
    const char *sweep, *plot, *rows; /* NULL: none; rows: results that are drawn without a job */
    int format;                      /* enum output_format */
};

static const char finegrain_usage[] =
    "usage: mpistair finegrain [OPTIONS] -- mpiexec -n RANKS\n"
    "       mpistair finegrain [OPTIONS] --sweep FILE -o OUT.csv -- mpiexec -n RANKS\n"
    "       mpistair finegrain --plot FILE.html OUT.csv\n"
    "\n"
    "Measures whether sending parts of a buffer early pays off. In each iteration threads "
    "compute (sleep), then a rank\n"
    "sends buffers to its peers: whole, once all threads have finished (BSP), or in parts, "
    "each sent by the last thread\n"
    "that fills it (fine-grained).\n";
static const char finegrain_notes[] =
    "Speed-up is 100 (BSP - fine) / BSP. A result is void if the last thread overslept by more than a tenth of its\n"
    "planned delay. Sleeping threads need processors: bind them like computing threads.\n";

static int is_standard(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Whether the options of a sweep, or of a picture alone, fit each other. */
static int check_sweep(struct finegrain_request *request)
{
    const char *lone = request->raw != NULL                                               ? "--raw"
                       : request->dump != NULL                                            ? "--dump"
                       : request->format == FORMAT_TEXT || request->format == FORMAT_JSON ? "--format"
                                                                                          : NULL;
    if (lone != NULL)
        return wrong_usage("finegrain", "%s does not apply to --%s, which reads and writes CSV", lone,
                           request->sweep != NULL ? "sweep" : "plot");
    bool has_output = strcmp(request->output, "-") != 0;
    if (request->sweep == NULL) {
        if (request->launcher.n_words != 1 || has_output)
            return wrong_usage("finegrain", "--plot without --sweep: expected only a file of results, as in mpistair "
                                            "finegrain --plot FILE.html OUT.csv");
        request->rows = request->launcher.words[0];
        return OPTIONS_READ;
    }
    if (!has_output)
        return wrong_usage("finegrain", "--sweep requires -o OUT.csv, the file for the rows");
    if (request->launcher.n_words < 1)
        return wrong_usage("finegrain", "no launcher: expected -- mpiexec -n RANKS");
    return OPTIONS_READ;
}

/* Measures a sweep where one was asked for, then draws. Returns the exit code. */
static int sweep_and_plot(struct finegrain_request *request)
{
    struct error error;
    int code = EXIT_DONE;
    if (request->sweep != NULL)
        code = sweep_run(request->sweep, &request->config, &request->launcher, request->output);
    if (code == EXIT_DONE && request->plot != NULL &&
        sweep_plot(request->rows != NULL ? request->rows : request->output, request->plot, &error) != 0)
        code = error_report(&error);
    return code;
}

static int parse_finegrain(int argc, char **argv, struct finegrain_request *request)
{
    struct option_row rows[FINEGRAIN_ROWS + 6];
    struct error error;
    *request = (struct finegrain_request){.output = "-", .format = FORMAT_NOT_GIVEN};
    finegrain_config_init(&request->config);
    size_t n = finegrain_config_rows(&request->config, rows);
    rows[n++] = (struct option_row){0, "format", "text|csv|json", "output format (text; csv with -o)",
                                    .choice = &request->format};
    rows[n++] = (struct option_row){'o', "output", "FILE", "the result", .text = &request->output};
    rows[n++] = (struct option_row){0, "raw", "FILE", "the times of all iterations, as CSV", .text = &request->raw};
    rows[n++] = (struct option_row){
        0, "dump", "FILE", "the planned arrival of each thread, in the format of fixed:FILE", .text = &request->dump};
    rows[n++] = (struct option_row){0, "sweep", "FILE",
                                    "measure all combinations of the values in FILE, a line per option, and append a "
                                    "row for each to OUT.csv; combinations with a row are skipped",
                                    .text = &request->sweep};
    rows[n++] = (struct option_row){
        0, "plot", "FILE.html", "draw the rows of OUT.csv, with --sweep when it is complete", .text = &request->plot};
    const struct option_table table = {.command = "finegrain",
                                       .usage = finegrain_usage,
                                       .rows = rows,
                                       .n_rows = n,
                                       .notes = finegrain_notes,
                                       .is_launcher = true};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    request->launcher.words = argv;
    request->launcher.n_words = argc;
    if (request->sweep != NULL || request->plot != NULL)
        return check_sweep(request);
    if (argc < 1)
        return wrong_usage("finegrain", "no launcher: expected -- mpiexec -n RANKS");
    if (finegrain_config_check(&request->config, &error) != 0)
        return wrong_usage("finegrain", "%s", error.text);
    if (request->format == FORMAT_NOT_GIVEN)
        request->format = strcmp(request->output, "-") == 0 ? FORMAT_TEXT : FORMAT_CSV;
    if (is_standard(request->output) + is_standard(request->raw) + is_standard(request->dump) > 1)
        return wrong_usage("finegrain", "--output, --raw, --dump: at most one of them may be standard output");
    return OPTIONS_READ;
}

/* Opens the arrivals. Returns OPTIONS_READ, or the exit code after saying what was expected. */
static int open_arrivals(struct finegrain_request *request, struct arrivals **arrivals)
{
    const struct finegrain_config *config = &request->config;
    struct arrivals_request asked;
    struct error error;
    if (arrivals_parse(config->arrivals, &asked, &error) != 0)
        return wrong_usage("finegrain", "%s", error.text);
    asked.width_s = config->width_s;
    if (arrivals_trace_open(&asked, config->compute_s, arrivals, &error) != 0) {
        error_report(&error);
        return EXIT_WRONG_USAGE;
    }
    return OPTIONS_READ;
}

static int write_row(const struct finegrain_request *request, const struct finegrain_row *row, FILE *stream,
                     struct error *error)
{
    if (request->format == FORMAT_JSON)
        return finegrain_row_write_json(stream, row, error);
    if (request->format == FORMAT_TEXT) {
        finegrain_row_write_text(stream, row);
    } else {
        fputs(FINEGRAIN_ROW_HEADER "\n", stream);
        finegrain_row_write_csv(stream, row);
    }
    return 0;
}

/* The files that are written, opened before anything is measured. */
struct results {
    struct output_file output, raw;
    bool output_is_open, raw_is_open;
};

static int open_results(const struct finegrain_request *request, struct results *results, struct error *error)
{
    struct output_file dump; /* arrivals_dump() opens it again, when the number of ranks is known */
    if (request->dump != NULL && output_file_open(&dump, request->dump, error) != 0)
        return -1;
    if (request->dump != NULL)
        output_file_discard(&dump);
    results->output_is_open = output_file_open(&results->output, request->output, error) == 0;
    if (!results->output_is_open)
        return -1;
    results->raw_is_open = request->raw != NULL && output_file_open(&results->raw, request->raw, error) == 0;
    return request->raw == NULL || results->raw_is_open ? 0 : -1;
}

/* Gives the files their names where all is well, else throws them away. */
static int close_results(struct results *results, int result, struct error *error)
{
    if (results->raw_is_open)
        result = output_file_end(&results->raw, result, error);
    return results->output_is_open ? output_file_end(&results->output, result, error) : result;
}

/* Measures and writes. Returns 0, or -1 with the reason, and the exit code. */
static int measure_threads(struct finegrain_request *request, const struct arrivals *arrivals, struct results *results,
                           int *code, struct error *error)
{
    const struct finegrain_config *config = &request->config;
    struct finegrain_samples samples = {0};
    struct finegrain_row row;
    int result = finegrain_job_run(&request->launcher, config, &samples, code, error);
    if (result == 0)
        result = finegrain_row_make(config, request->launcher.mpi, &samples, &row, error);
    if (result == 0 && results->raw_is_open)
        finegrain_samples_write(results->raw.stream, &samples);
    if (result == 0)
        result = write_row(request, &row, results->output.stream, error);
    if (result == 0 && request->dump != NULL)
        result = arrivals_dump(arrivals, request->dump, config->seed, config->trials * config->iterations,
                               (uint32_t)samples.ranks, config->threads, error);
    finegrain_samples_release(&samples);
    return result;
}

int cmd_finegrain(int argc, char **argv)
{
    struct finegrain_request request;
    struct results results = {.output_is_open = false};
    struct arrivals *arrivals = NULL;
    struct error error;
    int code = parse_finegrain(argc, argv, &request);
    if (code == OPTIONS_READ && (request.sweep != NULL || request.plot != NULL))
        return sweep_and_plot(&request);
    if (code == OPTIONS_READ)
        code = open_arrivals(&request, &arrivals);
    if (code != OPTIONS_READ)
        return code;
    code = EXIT_WORK_FAILED;
    int result = launcher_identify(&request.launcher, &error);
    if (result == 0)
        result = open_results(&request, &results, &error);
    if (result == 0)
        result = measure_threads(&request, arrivals, &results, &code, &error);
    result = close_results(&results, result, &error);
    arrivals_close(arrivals);
    if (result == 0)
        return EXIT_DONE;
    error_report(&error);
    return code;
}
