/* A program that takes its MPI's functions out of the handle that dlopen gave: handle LIBMPI. It is built for no MPI:
 * both MPIs have these functions, which need no constant of mpi.h. */
#include <dlfcn.h>
#include <stdio.h>

static void *look_up(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL)
        fprintf(stderr, "%s\n", dlerror());
    return symbol;
}

int main(int argc, char **argv)
{
    int (*init)(int *, char ***), (*finalize)(void);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL)
        return 1;
    *(void **)&init = look_up(library, "MPI_Init");
    *(void **)&finalize = look_up(library, "MPI_Finalize");
    return init == NULL || finalize == NULL || init(&argc, &argv) != 0 || finalize() != 0;
}
