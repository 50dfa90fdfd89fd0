/* Declares the main function of most benchmarks. */
#ifndef MPISTAIR_CALIBRATE_PROGRAM_H
#define MPISTAIR_CALIBRATE_PROGRAM_H

#include "calibrate/measure/measure.h"

/* Runs a benchmark from MPI_Init to MPI_Finalize; returns the exit code. */
int measure_main(int argc, char **argv, const struct benchmark_program *program);

#endif
