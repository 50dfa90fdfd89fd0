/* The benchmarks, a file each in this folder; main.c lists them. */
#ifndef MPISTAIR_CALIBRATE_BENCHMARKS_H
#define MPISTAIR_CALIBRATE_BENCHMARKS_H

#include "calibrate/measure/measure.h"

extern const struct benchmark_program algorithm1_program;
extern const struct benchmark_program backlog_program;
extern const struct benchmark_program buffer_program;
extern const struct benchmark_program burst_program;
extern const struct benchmark_program cached_program;
extern const struct benchmark_program contention_program;
extern const struct benchmark_program curves_program;
extern const struct benchmark_program eager_program;
extern const struct benchmark_program fine_program;
extern const struct benchmark_program gpu_copy_program;
extern const struct benchmark_program gpu_paths_program;
extern const struct benchmark_program injection_program;
extern const struct benchmark_program memory_contention_program;
extern const struct benchmark_program overhead_program;
extern const struct benchmark_program pingpong_program;
extern const struct benchmark_program progress_program;
extern const struct benchmark_program queue_program;
extern const struct benchmark_program self_program;

#endif
