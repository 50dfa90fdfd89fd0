/* A launcher that hears of an abort ends at once, at times before it has read what the rank wrote last: hydra (MPICH
 * 4.0.2) lost the reason in one of some hundred aborts. So that gets time to be read. */
#include "calibrate/measure/abort_all.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "share/base/error.h"

#define READ_NS 200000000

void abort_all(const char *format, ...)
{
    int rank;
    va_list arguments;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "mpistair: rank %d: ", rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    nanosleep(&(struct timespec){.tv_nsec = READ_NS}, NULL);
    MPI_Abort(MPI_COMM_WORLD, EXIT_WORK_FAILED);
    exit(EXIT_WORK_FAILED);
}
