/* Only rank 0 reads them, as rank 1 does what it is asked for. */
#include "calibrate/benchmark/memory/memory_arguments.h"

#include "share/base/options.h"

static const char memory_command[] = "mpistair-benchmark-MPI memory_contention";
static const char memory_usage[] =
    "usage: mpiexec -n 2 mpistair-benchmark-MPI memory_contention [options]\n\n"
    "Measures what computing cores and a message that is received cost each other. Rank 0 computes and receives, rank "
    "1\n"
    "sends. Writes samples as CSV on standard output, remarks on standard error.\n";

int memory_arguments_parse(int argc, char **argv, struct memory_arguments *options)
{
    *options = (struct memory_arguments){.seed = 1, .launch = 1};
    const struct option_row rows[] = {
        {0, "seconds", "S", "time of all samples, about (0.5 s each)", .real = &options->seconds, .most = 1000000},
        {0, "placements", "model|all",
         "model: data of both on the first NUMA node, local and remote (model); all: every one",
         .choice = &options->all_placements},
        {0, "skip-beyond-peak", NULL,
         "leave out what is between the number of cores with the highest bandwidth and the last",
         .flag = &options->skip_beyond_peak},
        {0, "allow-cpu-copy", NULL, "measure also where a processor copies the messages, and with two cores",
         .flag = &options->allow_cpu_copy},
        {0, "seed", "N", "of the random order (1)", .whole = &options->seed, .most = 1000000000},
        {0, "launch", "N", "number of this launch, for the CSV (1)", .u32 = &options->launch, .most = 1000000000},
        {0, "resume", "F", "go on from the samples in F, written by an earlier run that ended",
         .text = &options->resume_path},
        {0, "spent", "S", "time that earlier runs took, for the CSV (0)", .real = &options->spent_s,
         .most = 1000000000},
    };
    const struct option_table table = {
        .command = memory_command, .usage = memory_usage, .rows = rows, .n_rows = sizeof rows / sizeof rows[0]};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code == EXIT_DONE ? -1 : code;
    return argc == 0 ? 0 : wrong_usage(memory_command, "unexpected argument '%s'", argv[0]);
}
