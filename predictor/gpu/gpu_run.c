/* A prediction of paths between GPUs takes a table, neither trace nor pattern; so it has a way of its own through
 * `mpistair predict`. */
#include "predictor/gpu/gpu_run.h"

#include <math.h>

#include "predictor/gpu/gpu_show.h"
#include "share/base/output_file.h"

/* Checks the processes of a node against the table, which tells the cores of a socket: two of them where it has values
 * between sockets. */
static int check_cores(const struct machine *machine, const struct gpu_problem *problem)
{
    struct machine_protocols between;
    double cores = machine_value(machine, LEVEL_COUNT, PROTOCOL_ANY, "cores", INFINITY);
    int sockets = machine_protocols(machine, LEVEL_INTER_SOCKET, &between, NULL) == 0 ? 2 : 1;
    if (problem->ppn <= sockets * cores)
        return 0;
    return wrong_usage("predict", "--ppn %u: a node of '%s' has %g cores, expected no more processes", problem->ppn,
                       machine->name, sockets * cores);
}

/* Takes out what the table lacks. Returns 0, or -1 if the user named such a path, or nothing is left. */
static int find_available(const struct gpu_options *options, struct gpu_answer *answer, struct error *error)
{
    bool any = false;
    for (int path = 0; path < GPU_PATH_COUNT; path++) {
        bool available = answer->costs.available[path];
        answer->asked[path] = options->path_asked[path];
        if (options->path_asked[path] && !available && options->paths_given)
            return error_set(error, "--path %s: %s", gpu_path_name[path], answer->costs.reason[path].text);
        any = any || (options->path_asked[path] && available);
    }
    return any ? 0 : error_set(error, "no path between GPUs: %s", answer->costs.reason[GPU_DIRECT].text);
}

static int print(const struct predict_options *options, const struct gpu_answer *answer, struct error *error)
{
    struct output_file output;
    int result;
    if (output_file_open(&output, options->output, error) != 0)
        return -1;
    if (options->format == FORMAT_CSV)
        result = gpu_show_csv(output.stream, answer);
    else if (options->format == FORMAT_JSON)
        result = gpu_show_json(output.stream, answer, error);
    else
        result = gpu_show_text(output.stream, answer);
    if (result == 0)
        return output_file_commit(&output, error);
    output_file_discard(&output);
    return -1;
}

int gpu_run(const struct predict_options *options)
{
    struct gpu_answer answer = {.problem = &options->gpu.problem};
    struct machine machine;
    struct error error;
    if (machine_find(options->machine, &machine, &error) != 0)
        return error_report(&error);
    int code = check_cores(&machine, answer.problem);
    if (code == 0) {
        answer.machine = machine.name;
        gpu_costs_find(&machine, answer.problem, &answer.costs);
        bool done = find_available(&options->gpu, &answer, &error) == 0 && print(options, &answer, &error) == 0;
        code = done ? EXIT_DONE : error_report(&error);
    }
    machine_release(&machine);
    return code;
}
