/* Declares the main function of the calibration programs. */
#ifndef MPISTAIR_CALIBRATE_PROGRAM_H
#define MPISTAIR_CALIBRATE_PROGRAM_H

#include "calibrate/measure/measure.h"

/* Runs a benchmark from MPI_Init to MPI_Finalize; returns the exit code. */
int measure_main(int argc, char **argv, const struct benchmark_program *program);

/* Notes on rank 0, for mpistair calibrate, how many ranks the job has and which MPI it is. */
void program_note_job(int size);

#endif
