/* Measures the tasks of a plan on rank 0, sample by sample, and writes them as rows of CSV. */
#ifndef MPISTAIR_CALIBRATE_MEMORY_MEASURE_H
#define MPISTAIR_CALIBRATE_MEMORY_MEASURE_H

#include <mpi.h>

#include "calibrate/benchmark/memory/memory_data.h"
#include "calibrate/benchmark/memory/memory_plan.h"
#include "calibrate/benchmark/memory/memory_seats.h"
#include "share/base/error.h"

#define MEMORY_CSV_HEADER "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa,at_s"

struct memory_measure {
    MPI_Comm comm; /* rank 1 serves on it (memory_stream.h) */
    const struct memory_seats *seats;
    struct memory_data *data;
    struct memory_plan *plan;
    unsigned launch;
    double begin_s;  /* when at_s is 0 */
    double sample_s; /* steady time of a sample, at least */
};

/* Measures until the plan has nothing left. The calling thread receives, bound by the caller. Returns 0, or -1 with the
 * reason. */
int memory_measure_all(struct memory_measure *measure, struct error *error);

#endif
