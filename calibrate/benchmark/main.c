/* All benchmarks as one program for each MPI: its first argument names the benchmark, the others are its options. */
#include <stdio.h>
#include <string.h>

#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/measure/plan.h"
#include "share/base/error.h"

/* Those that list what they measure as one: their samples come in a single random order over benchmark, size and number
 * of processes. So a machine that is slow for some seconds is slow for a few samples of all and not for all samples of
 * one. A part gets time by its weight; what it does not need goes to the others. */
static const struct benchmark_part parts[] = {
    {&pingpong_program, 0.30, 0},                  /* latency and bandwidth of one message */
    {&algorithm1_program, 0.45, 0},                /* bandwidth that processes share */
    {&self_program, 0.05, 0},                      /* messages of a rank to itself */
    {&injection_program, 0.12, 0},                 /* what a node sends at most */
    {&queue_program, 0.12, 0},                     /* search of long queues */
    {&overhead_program, 0.03, 0},                  /* what a post costs */
    {&progress_program, 0.03, PLAN_SAMPLES_SHORT}, /* who moves bytes while the program computes: yes or no */
    {&cached_program, 0.05, 0},                    /* messages whose buffers are in caches */
};

const struct benchmark_program curves_program = {
    .name = "curves",
    .summary = "Ping-pong, Algorithm 1, self, injection, queue, overhead, progress and cached in one random order.",
    .parts = parts,
    .n_parts = (int)(sizeof parts / sizeof parts[0]),
};

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
    if (argc < 2)
        fputs("mpistair: no benchmark is named; expected one of those below\n", stream);
    else if (!is_asked)
        fprintf(stream, "mpistair: unknown benchmark '%s'; expected one of those below\n", name);
    fputs("usage: mpiexec -n RANKS mpistair-benchmark-MPI BENCHMARK [options]\n\n", stream);
    for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++)
        fprintf(stream, "  %-18s %s\n", benchmarks[i]->name, benchmarks[i]->summary);
    return is_asked ? EXIT_DONE : EXIT_WRONG_USAGE;
}
