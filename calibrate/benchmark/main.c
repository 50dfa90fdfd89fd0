/* All benchmarks as one program for each MPI: its first argument names the benchmark, the others are its options. */
#include <stdio.h>
#include <string.h>

#include "calibrate/benchmark/benchmarks.h"
#include "share/base/error.h"

static const struct benchmark_program *const benchmarks[] = {
    &algorithm1_program, &backlog_program,
    &buffer_program,     &burst_program,
    &cached_program,     &contention_program,
    &curves_program,     &eager_program,
    &fine_program,       &finegrain_program,
    &gpu_copy_program,   &gpu_paths_program,
    &injection_program,  &memory_contention_program,
    &overhead_program,   &pingpong_program,
    &progress_program,   &queue_program,
    &self_program,
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool is_asked = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
    FILE *stream = is_asked ? stdout : stderr;
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++)
        if (strcmp(name, benchmarks[i]->name) == 0)
            return benchmarks[i]->run != NULL ? benchmarks[i]->run(argc - 1, argv + 1)
                                              : measure_main(argc - 1, argv + 1, benchmarks[i]);
    if (!is_asked)
        fprintf(stream, "mpistair: '%s' is no benchmark\n", name);
    fputs("usage: mpiexec -n RANKS mpistair-benchmark-MPI BENCHMARK [options]\n\n", stream);
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++)
        fprintf(stream, "  %-18s %s\n", benchmarks[i]->name, benchmarks[i]->summary);
    return is_asked ? EXIT_DONE : EXIT_WRONG_USAGE;
}
