// A job in C++ in regions that last as long as a scope, also where an exception leaves it.
#include <mpi.h>

#include <stdexcept>
#include <string>

#include "interpose/region/mpistair_region.h"

static void inner(bool fails)
{
    std::string name = std::string("in") + "ner"; // a name that does not last
    mpistair_region_scope scope(name.c_str());
    if (fails)
        throw std::runtime_error("left");
}

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        mpistair_region_scope scope("OUTER");
        try {
            inner(i == 1);
        } catch (const std::runtime_error &) {
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
