/* A prediction of fine-grained messages takes a table and arrivals, neither trace nor pattern; so it has a way of its
 * own through `mpistair predict`. */
#include "predictor/finegrain/finegrain_run.h"

#include "calibrate/finegrain/arrivals/arrivals_trace.h"
#include "predictor/finegrain/finegrain_rows.h"
#include "predictor/finegrain/finegrain_show.h"
#include "share/base/output_file.h"

static int print(const struct predict_options *options, const struct machine *machine,
                 const struct finegrain_rows *rows, struct error *error)
{
    struct output_file output;
    int result;
    if (output_file_open(&output, options->output, error) != 0)
        return -1;
    if (options->format == FORMAT_CSV)
        result = finegrain_show_csv(output.stream, rows);
    else if (options->format == FORMAT_JSON)
        result = finegrain_show_json(output.stream, rows, error);
    else
        result = finegrain_show_text(output.stream, rows, &options->finegrain, machine->name);
    if (result == 0)
        return output_file_commit(&output, error);
    output_file_discard(&output);
    return -1;
}

int finegrain_run(const struct predict_options *options)
{
    const struct finegrain_options *asked = &options->finegrain;
    struct arrivals *arrivals = NULL;
    struct machine machine;
    struct finegrain_rows rows;
    struct error error;
    if (arrivals_trace_open(&asked->arrivals, asked->compute_s, &arrivals, &error) != 0 ||
        arrivals_check(arrivals, 1, asked->threads, &error) != 0) {
        arrivals_close(arrivals);
        return wrong_usage("predict", "--arrivals: %s", error.text);
    }
    int result = machine_find(options->machine, &machine, &error);
    if (result == 0) {
        result = finegrain_rows_make(&machine, asked, arrivals, options->what_if.seed, &rows, &error);
        if (result == 0) {
            finegrain_show_notes(&rows, asked, machine.name);
            result = print(options, &machine, &rows, &error);
        }
        finegrain_rows_release(&rows);
        machine_release(&machine);
    }
    arrivals_close(arrivals);
    return result == 0 ? EXIT_DONE : error_report(&error);
}
