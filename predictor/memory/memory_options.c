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
        {.help = "Memory bandwidth of computing cores of a socket and a message being received, in place of a trace or "
                 "a pattern:"},
        {0, "memory", NULL, "predict this; requires --machine", .flag = &options->asked},
        {0, "compute-cores", "N",
         "number of computing cores; default: a row for every number; MODEL+memory on a pattern requires it",
         .whole = &options->cores, .most = MEMORY_MAX_CORES, .given = &options->cores_given},
        {0, "comp-numa", "I",
         "NUMA node of the computation's data, from 0 on the computing socket; default: all that differ",
         .whole = &options->computation_numa, .most = MEMORY_MAX_CORES, .given = &options->computation_given},
        {0, "comm-numa", "J", "NUMA node of the message's data", .whole = &options->message_numa,
         .most = MEMORY_MAX_CORES, .given = &options->message_given},
        {0, "samples", "RAW.csv", "print the model's error on these samples, and that without contention",
         .text = &options->samples},
        {0, "plot", "FILE.html", "draw a picture per placement, with --samples also these", .text = &options->plot},
    };
    memcpy(rows, all, sizeof all);
}

int memory_options_check(const struct memory_options *options)
{
    bool own =
        options->computation_given || options->message_given || options->samples != NULL || options->plot != NULL;
    if (own && !options->asked)
        return wrong_usage("predict", "--comp-numa, --comm-numa, --samples and --plot require --memory");
    if (options->plot != NULL && options->cores_given)
        return wrong_usage("predict",
                           "--plot and --compute-cores exclude each other: a picture shows every number of cores");
    return 0;
}
