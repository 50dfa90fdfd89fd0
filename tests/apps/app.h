/* Holds what every program of this folder needs: failing with a reason, numbers of the command line, memory. */
#ifndef MPISTAIR_TESTS_APP_H
#define MPISTAIR_TESTS_APP_H

#include <stddef.h>
#include <stdint.h>

/* Prints "PROGRAM: rank R: REASON" to stderr and aborts the job with exit code 1. Needs MPI to be initialised. */
_Noreturn void app_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns count * size bytes, zeroed; at least one byte; never NULL: a job without memory fails. The caller frees. */
void *app_allocate(size_t count, size_t size);

/* Returns the number that an option was given; fails the job where text is no integer within [least, most]. */
int64_t app_integer(const char *option, const char *text, int64_t least, int64_t most);
double app_real(const char *option, const char *text, double least);

/* Return this rank and the size in MPI_COMM_WORLD. */
int app_rank(void);
int app_size(void);

#endif
