/* Looks a function up in the MPI, not in the order of search, as a tool might. */
#include "tests/apps/mpi_itself.h"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is called by dl_iterate_phdr: opens the MPI, which is loaded already. */
static int open_mpi(struct dl_phdr_info *object, size_t size, void *mpi)
{
    (void)size;
    const char *slash = strrchr(object->dlpi_name, '/');
#ifdef MPISTAIR_STANDARD_ABI
    if (slash == NULL || strncmp(slash, "/libmpi_abi", 11) != 0)
#else
    if (slash == NULL || (strncmp(slash, "/libmpi.so", 10) != 0 && strncmp(slash, "/libmpich.so", 12) != 0))
#endif
        return 0;
    *(void **)mpi = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

mpi_function mpi_itself(const char *name)
{
    void *mpi = NULL;
    mpi_function function = NULL;
    dl_iterate_phdr(open_mpi, &mpi);
    void *found = mpi != NULL ? dlsym(mpi, name) : NULL;
    if (found == NULL) {
        fprintf(stderr, "%s: in no libmpi.so and no libmpich.so that is loaded\n", name);
        exit(1);
    }
    memcpy(&function, &found, sizeof function);
    return function;
}
