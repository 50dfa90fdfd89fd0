/* Reads the options of the memory benchmark, which can be run by hand. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_ARGUMENTS_H
#define MPISTAIR_CALIBRATE_MEMORY_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct memory_arguments {
    double seconds; /* time of all samples, about; 0: not given */
    double spent_s; /* what earlier runs took, for at_s */
    uint64_t seed;
    uint32_t launch;
    int all_placements; /* 0: those of the model */
    bool skip_beyond_peak;
    bool allow_cpu_copy;
    const char *resume_path; /* borrowed; NULL: none */
};

/* Returns 0; -1 after --help; EXIT_WRONG_USAGE after saying what was expected. */
int memory_arguments_parse(int argc, char **argv, struct memory_arguments *options);

#endif
