/* Begins a benchmark as an MPI job, and ends all ranks where one of them fails. */
#ifndef MPISTAIR_CALIBRATE_MPI_JOB_H
#define MPISTAIR_CALIBRATE_MPI_JOB_H

/* The beginning of lines on standard error that are for mpistair calibrate. */
#define MEASURE_NOTE          "mpistair-note: "
#define MEASURE_NOT_AVAILABLE MEASURE_NOTE "not_available "

/* Initializes MPI with that level of threads (MPI_THREAD_SINGLE ...) and returns what it provides. From here on exit()
 * ends all ranks, as where memory runs out. With MPI_THREAD_MULTIPLE the process keeps the memory that it frees, as one
 * that has run for a while does. */
int mpi_job_init(int *argc, char ***argv, int threads);

/* Notes on rank 0, for mpistair calibrate, how many ranks the job has and which MPI it is. */
void mpi_job_note(int size);

/* Prints `mpistair: rank N: ...` and ends all ranks. */
void abort_all(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
