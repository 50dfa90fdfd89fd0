/* A plug-in that exchanges messages for the program that loads it (plugins.c): two libraries are built of it, so that
 * one fits where the other lay, and their tags tell whose message is whose. It gets all of MPI from its caller, so that
 * it needs none of its own in whatever namespace it is loaded. */
#include <stddef.h>

#include "tests/apps/plugins.h"

#define MESSAGE &out, 1, mpi.type, 0, PLUG_TAG, &in, 1, mpi.type, 0, PLUG_TAG, mpi.comm, mpi.ignore

static struct plug_mpi mpi;
static int n_at_end;

__attribute__((visibility("default"))) void plug(const struct plug_mpi *given, int n)
{
    int out = 0, in = 0, flag = 0;
    mpi = *given;
    for (int i = 0; i < n; i++)
        mpi.sendrecv(MESSAGE); /* sendrecv */
    for (int i = 0; i > n; i--)
        mpi.iprobe(0, PLUG_TAG, mpi.comm, &flag, mpi.ignore);
}

__attribute__((visibility("default"))) void plug_at_end(int n)
{
    n_at_end = n;
}

__attribute__((destructor)) static void leave(void)
{
    int out = 0, in = 0;
    for (int i = 0; i < n_at_end; i++)
        mpi.sendrecv(MESSAGE); /* at end */
}
