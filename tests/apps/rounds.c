/* rounds runs one of the jobs of rounds.h.
 *
 *     rounds CASE STEPS [FILE]
 *
 * FILE gets what was sent, as CSV src,dst,messages,bytes. */
#include "tests/apps/rounds.h"

#include "tests/apps/app.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int steps, struct traffic *traffic);
    } cases[] = {
        {"master_worker", rounds_master_worker},
        {"wavefront", rounds_wavefront},
        {"double_buffer", rounds_double_buffer},
        {"standing_receive", rounds_standing_receive},
    };
    MPI_Init(&argc, &argv);
    if (argc < 3)
        app_fail("usage: rounds CASE STEPS [FILE]");
    size_t chosen = 0;
    while (chosen < sizeof(cases) / sizeof(cases[0]) && strcmp(argv[1], cases[chosen].name) != 0)
        chosen++;
    if (chosen == sizeof(cases) / sizeof(cases[0]))
        app_fail("%s: no such case; expected master_worker, wavefront, double_buffer or standing_receive", argv[1]);
    struct traffic traffic;
    witness_init(&traffic);
    cases[chosen].run((int)app_integer("steps", argv[2], 1, 1000000), &traffic);
    traffic_write(&traffic, argc > 3 ? argv[3] : NULL);
    witness_release(&traffic);
    MPI_Finalize();
    return 0;
}
