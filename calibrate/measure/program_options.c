/* The programs can be run by hand, without `mpistair calibrate`, so they have options and help of their own. */
#include "calibrate/measure/program_options.h"

#include <stdio.h>
#include <unistd.h>

#include "share/base/options.h"

#define SECONDS_LEAST 0.1
#define OPTIONS_MIB   1048576.0

/* Returns a buffer's bytes such that both buffers of all ranks of a node fit in an eighth of its memory. */
static size_t default_buffer(int ranks)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), share = memory / 16 / ranks;
    return (size_t)(share > 32 * OPTIONS_MIB ? 32 * OPTIONS_MIB : share < 4 * OPTIONS_MIB ? 4 * OPTIONS_MIB : share);
}

static int options_take(int argc, char **argv, const struct benchmark_program *program, struct measure *measure,
                        bool *hello)
{
    char command[64], usage[1024];
    double seconds = 10, buffer = 0;
    uint64_t seed = 1;
    uint32_t launch = 1;
    const struct option_row rows[] = {
        {0, "seconds", "S", "time limit (10)", .real = &seconds, .most = 86400},
        {0, "buffer", "MIB", "size of the long buffers, two a rank (32, less where memory is short)", .real = &buffer,
         .least = 4, .most = 65536},
        {0, "seed", "N", "of the random order (1)", .whole = &seed, .most = 1000000000},
        {0, "launch", "N", "number of this launch, for the CSV (1)", .u32 = &launch, .most = 1000000000},
        {0, "link", "A-B,..", "pairs of nodes that share a link, for contention; numbered from 0 by first rank",
         .text = &measure->link},
        {0, "path", "P[,P]", "copy, host, gpudirect, 3-step, extra-message, duplicate-pointer, for GPUs (all)",
         .text = &measure->paths},
        {0, "resume", "F",
         "go on from the samples of this benchmark and launch in F, written by an earlier run that ended",
         .text = &measure->resume_path},
        {0, "cached", NULL, "every message at the same place, so that it stays in the cache", .flag = &measure->cached},
        {0, "hello", NULL, "only tell the number of ranks", .flag = hello},
    };
    snprintf(command, sizeof command, "mpistair-benchmark-MPI %s", program->name);
    snprintf(
        usage, sizeof usage,
        "usage: mpiexec -n RANKS %s [options]\n\n%s\n\nWrites samples as CSV on standard output, remarks on standard "
        "error.\n",
        command, program->summary);
    const struct option_table table = {
        .command = command,
        .usage = usage,
        .rows = rows,
        .n_rows = sizeof rows / sizeof rows[0],
        .notes = "MPISTAIR_PLACEMENT=L.csv (rank,node,socket[,numa,l3]) places the ranks by hand.\n"};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code == EXIT_DONE ? -1 : code;
    if (argc > 0)
        return wrong_usage(command, "unexpected argument '%s'", argv[0]);
    if (seconds < SECONDS_LEAST)
        return wrong_usage(command, "--seconds %g: expected a number, %g to 86400", seconds, SECONDS_LEAST);
    measure->seconds = seconds;
    measure->seed = seed;
    measure->launch = launch;
    measure->buffer_bytes = buffer > 0 ? (size_t)(buffer * OPTIONS_MIB) : default_buffer(measure->size);
    return 0;
}

int options_parse(int argc, char **argv, const struct benchmark_program *program, struct measure *measure, bool *hello)
{
    int code = measure->rank == 0 ? options_take(argc, argv, program, measure, hello) : 0;
    MPI_Bcast(&code, 1, MPI_INT, 0, measure->control);
    return code != 0 || measure->rank == 0 ? code : options_take(argc, argv, program, measure, hello);
}
