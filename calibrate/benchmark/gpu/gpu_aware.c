/* The standard has no function for this: MPICH has MPIX_GPU_query_support, Open MPI and MVAPICH have
 * MPIX_Query_cuda_support. They are looked up at run time, since a header may lack what its library has. */
#include "calibrate/benchmark/benchmarks.h"

#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

/* MPIX_GPU_SUPPORT_CUDA of MPICH's mpi.h. */
enum { SUPPORT_CUDA = 0 };

bool gpu_mpi_is_aware(void)
{
    int (*of_mpich)(int type, int *supported);
    int (*of_others)(void);
    void *found = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    memcpy(&of_mpich, &found, sizeof found);
    int supported = 0;
    if (of_mpich != NULL)
        return of_mpich(SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
    found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&of_others, &found, sizeof found);
    return of_others != NULL && of_others() == 1;
}
