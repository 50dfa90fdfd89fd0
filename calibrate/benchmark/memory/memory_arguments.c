/* Only rank 0 reads them, as rank 1 does what it is asked for. */
#include "calibrate/benchmark/memory/memory_arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "share/base/error.h"
#include "share/base/number.h"

static const char usage[] =
    "usage: mpiexec -n 2 mpistair-benchmark-MPI memory_contention [options]\n\n"
    "Measures what computing cores and a message that is received cost each other. Rank 0 computes and receives, rank "
    "1\n"
    "sends. Writes samples as CSV on standard output, remarks on standard error.\n\n"
    "  --seconds S          time of all samples, about (0.5 s each)\n"
    "  --placements WHICH   model: data of both on the first NUMA node, local and remote (model); all: every one\n"
    "  --skip-beyond-peak   leave out what is between the number of cores with the highest bandwidth and the last\n"
    "  --allow-cpu-copy     measure also where a processor copies the messages, and with two cores\n"
    "  --seed N             of the random order (1)\n"
    "  --launch N           number of this launch, for the CSV (1)\n"
    "  --resume F           go on from the samples in F, written by an earlier run that ended\n"
    "  --spent S            time that earlier runs took, for the CSV (0)\n";

static int number(const char *name, double most, double *value)
{
    double read;
    if (number_real(optarg, &read) == NULL && read >= 0 && read <= most) {
        *value = read;
        return 0;
    }
    fprintf(stderr, "mpistair: --%s %s: expected a number from 0 to %g\n", name, optarg, most);
    return EXIT_WRONG_USAGE;
}

static int placements(bool *all)
{
    *all = strcmp(optarg, "all") == 0;
    if (*all || strcmp(optarg, "model") == 0)
        return 0;
    fprintf(stderr, "mpistair: --placements %s: expected model or all\n", optarg);
    return EXIT_WRONG_USAGE;
}

/* Takes one option by its letter. */
static int take(int letter, struct memory_arguments *options)
{
    double value = 0;
    int result = 0;
    switch (letter) {
    case 's':
        return number("seconds", 1e6, &options->seconds);
    case 't':
        return number("spent", 1e9, &options->spent_s);
    case 'r':
        result = number("seed", 1e9, &value);
        options->seed = (uint64_t)value;
        return result;
    case 'l':
        result = number("launch", 1e9, &value);
        options->launch = (unsigned)value;
        return result;
    case 'p':
        return placements(&options->all_placements);
    case 'k':
        options->skip_beyond_peak = true;
        return 0;
    case 'c':
        options->allow_cpu_copy = true;
        return 0;
    case 'e':
        options->resume_path = optarg;
        return 0;
    case 'h':
        fputs(usage, stdout);
        return -1;
    default:
        return EXIT_WRONG_USAGE;
    }
}

int memory_arguments_parse(int argc, char **argv, struct memory_arguments *options)
{
    static const struct option known[] = {
        {"seconds", required_argument, NULL, 's'},
        {"spent", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'r'},
        {"launch", required_argument, NULL, 'l'},
        {"placements", required_argument, NULL, 'p'},
        {"skip-beyond-peak", no_argument, NULL, 'k'},
        {"allow-cpu-copy", no_argument, NULL, 'c'},
        {"resume", required_argument, NULL, 'e'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct memory_arguments){.seed = 1, .launch = 1};
    for (int letter; (letter = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        int result = take(letter, options);
        if (result != 0)
            return result;
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "mpistair: memory_contention: unexpected argument '%s'; see --help\n", argv[optind]);
    return EXIT_WRONG_USAGE;
}
