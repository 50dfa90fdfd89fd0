/* The programs can be run by hand, without `mpistair calibrate`, so they have options and help of their own; all ranks
 * parse them alike, without communication. */
#include "calibrate/measure/program_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/error.h"

#define SECONDS_MAX 86400.0
#define OPTIONS_MIB 1048576.0

static void usage(const struct benchmark_program *program)
{
    printf("usage: mpiexec -n RANKS mpistair-benchmark-MPI %s [options]\n\n%s\n\n"
           "Writes samples as CSV on standard output, remarks on standard error.\n\n"
           "  --seconds S  time limit (10)\n"
           "  --buffer MIB size of the long buffers, two a rank (32, less where memory is short)\n"
           "  --seed N     of the random order (1)\n"
           "  --launch N   number of this launch, for the CSV (1)\n"
           "  --link A-B,.. pairs of nodes that share a link, for contention; numbered from 0 by first rank\n"
           "  --path P[,P] copy, host, gpudirect, 3-step, extra-message, duplicate-pointer, for GPUs (all)\n"
           "  --resume F   go on from the samples of this benchmark and launch in F, written by an earlier run that "
           "ended\n"
           "  --cached     every message at the same place, so that it stays in the cache\n"
           "  --hello      only tell the number of ranks\n"
           "MPISTAIR_PLACEMENT=L.csv (rank,node,socket[,numa,l3]) places the ranks by hand.\n",
           program->name, program->summary);
}

/* Returns a buffer's bytes such that both buffers of all ranks of a node fit in an eighth of its memory. */
static size_t default_buffer(int ranks)
{
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), share = memory / 16 / ranks;
    return (size_t)(share > 32 * OPTIONS_MIB ? 32 * OPTIONS_MIB : share < 4 * OPTIONS_MIB ? 4 * OPTIONS_MIB : share);
}

static int number(const char *name, double min, double max, bool speak, double *value)
{
    char *end;
    double read = strtod(optarg, &end);
    if (end == optarg || *end != '\0' || !(read >= min && read <= max)) {
        if (speak)
            fprintf(stderr, "mpistair: --%s %s: expected a number from %g to %g\n", name, optarg, min, max);
        return EXIT_WRONG_USAGE;
    }
    *value = read;
    return 0;
}

int options_parse(int argc, char **argv, const struct benchmark_program *program, bool speak, struct measure *measure,
                  bool *hello)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'},
        {"buffer", required_argument, NULL, 'b'},
        {"seed", required_argument, NULL, 'r'},
        {"launch", required_argument, NULL, 'l'},
        {"link", required_argument, NULL, 'k'},
        {"resume", required_argument, NULL, 'e'},
        {"path", required_argument, NULL, 'p'},
        {"cached", no_argument, NULL, 'c'},
        {"hello", no_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    double seconds = 10, buffer = 0, seed = 1, launch = 1;
    opterr = speak;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        int result = 0;
        switch (option) {
        case 's':
            result = number("seconds", 0.1, SECONDS_MAX, speak, &seconds);
            break;
        case 'b':
            result = number("buffer", 4, 65536, speak, &buffer);
            break;
        case 'r':
            result = number("seed", 0, 1e9, speak, &seed);
            break;
        case 'l':
            result = number("launch", 0, 1e9, speak, &launch);
            break;
        case 'k':
            measure->link = optarg;
            break;
        case 'p':
            measure->paths = optarg;
            break;
        case 'e':
            measure->resume_path = optarg;
            break;
        case 'c':
            measure->cached = true;
            break;
        case 'o':
            *hello = true;
            break;
        case 'h':
            if (speak)
                usage(program);
            return -1;
        default:
            return EXIT_WRONG_USAGE;
        }
        if (result != 0)
            return result;
    }
    if (optind < argc) {
        if (speak)
            fprintf(stderr, "mpistair: %s: unexpected argument '%s'; see --help\n", program->name, argv[optind]);
        return EXIT_WRONG_USAGE;
    }
    measure->seconds = seconds;
    measure->seed = (uint64_t)seed;
    measure->launch = (unsigned)launch;
    measure->buffer_bytes = buffer > 0 ? (size_t)(buffer * OPTIONS_MIB) : default_buffer(measure->size);
    return 0;
}
