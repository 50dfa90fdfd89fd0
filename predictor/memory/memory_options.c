/* Reads the options that belong together only with --memory; every mistake is printed here, once, with what was
 * expected. */
#include "predictor/memory/memory_options.h"

#include <string.h>

#include "share/base/error.h"
#include "predictor/models/memory_contention.h"

void memory_option_rows(struct memory_options *options, struct option_row rows[MEMORY_ROWS])
{
    *options = (struct memory_options){0};
    const struct option_row all[MEMORY_ROWS] = {
        {.help = "What computing cores of a socket and a message that is received leave each other of the memory's "
                 "bandwidth, in the place of a trace or a pattern:"},
        {0, "memory", NULL, "asks for it; needs --machine", .flag = &options->asked},
        {0, "compute-cores", "N",
         "so many cores compute; default: every number of them; needed by MODEL+memory of a pattern",
         .whole = &options->cores, .most = MEMORY_MAX_CORES, .given = &options->cores_given},
        {0, "comp-numa", "I",
         "NUMA node of the data of computation, from 0 on the socket that computes; default: all that differ",
         .whole = &options->computation_numa, .most = MEMORY_MAX_CORES, .given = &options->computation_given},
        {0, "comm-numa", "J", "NUMA node of the message", .whole = &options->message_numa, .most = MEMORY_MAX_CORES,
         .given = &options->message_given},
        {0, "samples", "RAW.csv", "how far the model is off what was measured, and without contention",
         .text = &options->samples},
        {0, "plot", "FILE.html", "draws it, a picture a placement, with the samples if they are given",
         .text = &options->plot},
    };
    memcpy(rows, all, sizeof all);
}

int memory_options_check(const struct memory_options *options)
{
    bool own =
        options->computation_given || options->message_given || options->samples != NULL || options->plot != NULL;
    if (own && !options->asked)
        return wrong_usage("predict", "--comp-numa, --comm-numa, --samples and --plot are for --memory");
    if (options->plot != NULL && options->cores_given)
        return wrong_usage("predict",
                           "--plot and --compute-cores: a picture has every number of cores, expected one of "
                           "them");
    return 0;
}
