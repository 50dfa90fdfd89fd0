/* A test program that goes on after a mistake of its own would blame the recorder, so all of them end the job here,
 * with the reason. */
#include "tests/apps/app.h"

#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

_Noreturn void app_fail(const char *format, ...)
{
    fprintf(stderr, "%s: rank %d: ", program_invocation_short_name, app_rank());
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* a launcher may end before it has read that */
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

void *app_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        app_fail("no memory for %zu items of %zu bytes", count, size);
    return memory;
}

int64_t app_integer(const char *option, const char *text, int64_t least, int64_t most)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < least || value > most)
        app_fail("--%s %s: expected an integer from %lld to %lld", option, text, (long long)least, (long long)most);
    return value;
}

double app_real(const char *option, const char *text, double least)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= least))
        app_fail("--%s %s: expected a number of at least %g", option, text, least);
    return value;
}

int app_rank(void)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int app_size(void)
{
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
