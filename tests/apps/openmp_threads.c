/* Steps in which threads of OpenMP work (openmp_part.c, compiled by the test), for the test of what the trace says.
 *
 * usage: openmp_threads LIBRARY WAY
 *     uneven   thread 0 works three times as long as the other, in two parts with a barrier between them
 *     even     both work alike
 *     one      uneven on the last rank, even on the others
 *     tasks    thread 0 makes four tasks of the uneven work, which both run in the barrier behind
 *     nested   as uneven, in a region within one of a single thread
 *     unloads  as uneven; library and OpenMP's runtime are unloaded behind each fifth step
 *     closes   as uneven; behind the fifth step all files that are open are closed
 *     before   as uneven, with a region before MPI_Init and one behind MPI_Finalize
 *
 * A rank prints "rank R regions_s S idle_s S", as it saw itself between MPI_Init and MPI_Finalize. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = 40 };

typedef void part_function(const char *way, int is_uneven, double *region_s, double *idle_s);

static void *library;

static part_function *load(const char *path)
{
    part_function *part;
    library = dlopen(path, RTLD_NOW);
    *(void **)&part = library ? dlsym(library, "openmp_part") : NULL;
    if (!part) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return part;
}

static void close_files(void)
{
    struct stat status;
    for (int file = 3; file < 1024; file++)
        if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
            close(file);
}

int main(int argc, char **argv)
{
    double before_s[2], sums_s[2] = {0};
    int rank, size;
    if (argc < 3)
        return 2;
    const char *way = argv[2];
    part_function *part = load(argv[1]);
    if (strcmp(way, "before") == 0)
        part(way, 1, &before_s[0], &before_s[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int is_uneven = strcmp(way, "even") != 0 && (strcmp(way, "one") != 0 || rank == size - 1);
    for (int i = 0; i < STEPS; i++) {
        part(way, is_uneven, &sums_s[0], &sums_s[1]);
        if (strcmp(way, "unloads") == 0 && i % 5 == 4) {
            dlclose(library);
            if (i < STEPS - 1)
                part = load(argv[1]);
        }
        if (strcmp(way, "closes") == 0 && i == 4)
            close_files();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d regions_s %.6f idle_s %.6f\n", rank, sums_s[0], sums_s[1]);
    fflush(stdout);
    MPI_Finalize();
    if (strcmp(way, "before") == 0)
        part(way, 1, &before_s[0], &before_s[1]);
    return 0;
}
