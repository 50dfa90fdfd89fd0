/* A launcher that hears of an abort ends at once, at times before it has read what the rank wrote last: hydra (MPICH
 * 4.0.2) lost the reason in one of some hundred aborts. So a rank waits before it aborts, for its message to be read.
 *
 * An MPI may allocate memory for each message: MPICH 4.0 does so for partitions. Where the C library returns it to the
 * system at once, or each thread has memory of its own to take it from, a message costs the first touch of all its
 * pages, which takes several times as long as to move it. Whether it does depends on how much was freed before and on
 * which thread waits, and ends after some hundred iterations. Here all threads allocate from one heap, which only
 * grows. */
#include "calibrate/measure/mpi_job.h"

#include <limits.h>
#include <malloc.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/base/error.h"

#define READ_NS 200000000

/* Without the C library of GNU it does nothing. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the largest that is taken */
#endif
}

/* Ends the other ranks where this one exits early: not every launcher does that. */
static void abort_unfinished(void)
{
    int finalized;
    MPI_Finalized(&finalized);
    if (finalized)
        return;
    nanosleep(&(struct timespec){.tv_nsec = READ_NS}, NULL);
    MPI_Abort(MPI_COMM_WORLD, EXIT_WORK_FAILED);
}

int mpi_job_init(int *argc, char ***argv, int threads)
{
    int provided = MPI_THREAD_SINGLE;
    if (threads == MPI_THREAD_MULTIPLE)
        keep_freed_memory();
    if (threads == MPI_THREAD_SINGLE)
        MPI_Init(argc, argv);
    else
        MPI_Init_thread(argc, argv, threads, &provided);
    atexit(abort_unfinished);
    return provided;
}

void mpi_job_note(int size)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n")] = '\0';
    for (char *c = library; *c != '\0'; c++)
        *c = *c == '\t' ? ' ' : *c;
    fprintf(stderr, MEASURE_NOTE "ranks %d\n" MEASURE_NOTE "library %s\n", size, library);
}

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
    exit(EXIT_WORK_FAILED);
}
