/* What a program gives its plug-ins of MPI. */
#ifndef MPISTAIR_TESTS_PLUGINS_H
#define MPISTAIR_TESTS_PLUGINS_H

#include <mpi.h>

struct plug_mpi {
    int (*sendrecv)(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                    MPI_Status *);
    int (*iprobe)(int, int, MPI_Comm, int *, MPI_Status *);
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Status *ignore;
};

/* What a plug-in has: it sends n messages, or probes -n times in vain; it sends n more while it is unloaded. */
void plug(const struct plug_mpi *given, int n);
void plug_at_end(int n);

#endif
