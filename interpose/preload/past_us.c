/* A program may call its MPI past a preloaded library: by addresses that dlsym gave of the MPI's own handle, or as a
 * library of dlopen with RTLD_DEEPBIND. Then not even MPI_Init comes by here. So a process is asked at its end whether
 * an MPI in it was initialised, where nobody has asked for a recording. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "interpose/preload/mpi_library.h"
#include "interpose/preload/recording.h"
#include "interpose/preload/say.h"

static pid_t own_pid;

static void look(void)
{
    int error = errno, flag = 0;
    if (getpid() == own_pid && recording_is_idle() && !recording_is_disabled() &&
        !mpi_library_is_wrapped_in_front("PMPI_Initialized")) { /* a second copy of this library, which is in front */
        union {
            mpistair_code *code;
            int (*initialized)(int *flag);
        } call = {.code = mpi_library_find_anywhere("PMPI_Initialized")};
        if (call.code != NULL && call.initialized(&flag) == 0 && flag)
            say("not recorded: the program calls its MPI past the loader's search order (by dlsym on the handle that "
                "dlopen gave, or with RTLD_DEEPBIND), where a preloaded library is not; link it to the MPI, or look "
                "functions up with RTLD_DEFAULT");
    }
    errno = error;
}

/* glibc 2.41 calls it again in exit(), when a look at this library's own file opens a library that is down already. */
__attribute__((constructor)) static void watch(void)
{
    if (own_pid == 0)
        atexit(look); /* it runs before any library is taken down */
    own_pid = getpid();
}
