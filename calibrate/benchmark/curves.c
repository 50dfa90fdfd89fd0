/* Measures all benchmarks that list what they measure as one: their samples come in a single random order over
 * benchmark, size and number of processes. So a machine that is slow for some seconds is slow for a few samples of all
 * and not for all samples of one. A part gets time by its weight; what it does not need goes to the others. */
#include "calibrate/benchmark/benchmarks.h"
#include "calibrate/samples/plan.h"

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
