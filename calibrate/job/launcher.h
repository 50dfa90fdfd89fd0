/* Runs benchmarks under the launcher that the user gives: `mpiexec -n 8`, srun, a wrapper. */
#ifndef MPISTAIR_CALIBRATE_LAUNCHER_H
#define MPISTAIR_CALIBRATE_LAUNCHER_H

#include "calibrate/job/child.h"
#include "share/base/error.h"

struct launcher {
    char **words; /* borrowed, [n_words]: the launcher and its options */
    int n_words;
    const char *mpi; /* as in the name of the program: mpich, openmpi, abi */
};

/* Begins the lines on standard error that are for `mpistair calibrate` (measure.h). */
#define LAUNCH_NOTE "mpistair-note: "

/* Finds out to which MPI the launcher belongs: by what it prints for --version, else by trying the benchmarks that are
 * built. Those of the standard ABI serve where there are none of that MPI. Returns 0, or -1 with the reason: it cannot
 * be started, its MPI is not known, there are no benchmarks for it. */
int launcher_identify(struct launcher *launcher, struct error *error);

/* Runs `launcher mpistair-benchmark-MPI benchmark arguments...` (arguments NULL-terminated) to its end, at most limit_s
 * seconds; what it says goes to listener line by line. Returns 0, or -1 with the reason. */
int launcher_run(const struct launcher *launcher, const char *benchmark, char *const *arguments, double limit_s,
                 const struct child_listener *listener, struct error *error);

#endif
