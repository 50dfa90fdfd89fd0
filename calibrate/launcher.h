/* Running the calibration programs under the launcher that the user gives: `mpiexec -n 8`, srun, a wrapper. */
#ifndef MPISTAIR_CALIBRATE_LAUNCHER_H
#define MPISTAIR_CALIBRATE_LAUNCHER_H

#include <limits.h>
#include <stdio.h>

#include "error.h"

struct launcher {
    char **words; /* borrowed, [n_words]: the launcher and its options */
    int n_words;
    const char *mpi; /* as in the names of the programs: mpich, openmpi */
};

/* What a program left behind. */
struct launch {
    FILE *out; /* standard output, at its beginning */
    FILE *err; /* standard error, at its beginning */
};

/* Finds out which MPI the launcher belongs to: by what it prints for --version, else by trying the programs that are
 * built. 0, or -1 with the reason: it cannot be started, its MPI is not known, there are no programs for it. */
int launcher_identify(struct launcher *launcher, struct error *error);

/* Runs `launcher PROGRAM-MPI arguments...` (arguments NULL-terminated) and waits, at most limit_s seconds; with
 * progress a line with the time on standard error if that is a terminal. 0 and launch for launch_release; -1 with the
 * reason, after printing what the program or launcher wrote on standard error. */
int launcher_run(const struct launcher *launcher, const char *program, char *const *arguments, double limit_s,
                 const char *progress, struct launch *launch, struct error *error);
void launch_release(struct launch *launch);

/* Starts of the lines on standard error that are for `mpistair calibrate` (measure.h). */
#define LAUNCH_NOTE "mpistair-note: "
/* Prints the other lines of standard error on ours. */
void launch_echo(struct launch *launch);

#endif
