/* Two calibrations share a command, a launcher and a file of samples, but neither options nor a fit. */
#include "calibrate/command/cmd_calibrate_memory.h"

#include "calibrate/fit/fit_memory.h"
#include "calibrate/samples/memory_samples.h"
#include "share/base/options.h"

int memory_call_check(struct memory_call *call)
{
    static const char *const of_memory[] = {"placements", "skip-beyond-peak", "allow-cpu-copy"};
    static const char *const of_messages[] = {"quick", "launches", "shared-link", "cached", "gpu", "path"};
    for (size_t i = 0; i < sizeof of_memory / sizeof of_memory[0] && !call->is_asked; i++)
        if (call->memory_given[i])
            return wrong_usage("calibrate", "--%s requires --memory", of_memory[i]);
    for (size_t i = 0; i < sizeof of_messages / sizeof of_messages[0] && call->is_asked; i++)
        if (call->messages_given[i])
            return wrong_usage("calibrate", "--%s does not apply to --memory", of_messages[i]);
    call->request.placements = call->placements == 0 ? "model" : "all";
    return OPTIONS_READ;
}

int memory_call_fit(struct raw_file *raw, struct machine *machine, FILE *remarks, struct error *error)
{
    struct memory_samples samples;
    if (raw_file_commit(raw, error) != 0 || memory_samples_read_csv(raw->path, &samples, error) != 0)
        return -1;
    int result = fit_memory(&samples, machine, remarks, error);
    memory_samples_release(&samples);
    return result;
}
