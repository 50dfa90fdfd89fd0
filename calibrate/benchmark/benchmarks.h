/* The benchmarks, a file each in this folder, which main.c lists, and what several of them share. */
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

/* Returns whether the MPI accepts buffers in the memory of GPUs, as it says; to be called after MPI_Init. */
bool gpu_mpi_is_aware(void);
/* Returns on all ranks whether rank 0 sees a GPU of NVIDIA; where it does not, a note says why. */
bool gpu_look(const struct measure *measure);

/* Modes of batches_exchange(). */
enum { BATCHES_ONE_WAY, BATCHES_BOTH_WAYS };

/* Moves task->repeats messages, task->batch of them posted at once, from the first rank to the second or both ways. The
 * ranks of a pair begin together even if one was woken late; pairs begin with the common clock. */
double batches_exchange(struct measure *measure, const struct task *task);

/* What one pair of a level measures: the benchmarks of what a call does need no more, for rates differ from pair to
 * pair, the way that an MPI takes does not. */
struct one_pair_plan {
    const char *const *variants; /* [n_modes]; the item's mode is the index */
    int n_modes;
    const uint64_t *sizes; /* [n_sizes] */
    size_t n_sizes;
    int repeats;
};

/* Lists each size and mode of the plan for the pair of each level from nearest to farthest that the job has. */
void one_pair_list(const struct measure *measure, struct item_list *list, enum level nearest, enum level farthest,
                   const struct one_pair_plan *plan);

/* Leads benchmarks whose samples take long: all items in turn, as many samples of each as the fit needs and the time
 * allows, instead of the schedule's many short ones. Measures items[n_items] in rounds, until taken[n_items] of each
 * are n samples, which may begin above 0. It ends earlier where there is no time for one that takes as long as the
 * last. Samples of 0 s are lost and not written. */
void round_robin_measure(struct measure *measure, const struct item *items, size_t n_items, size_t *taken, size_t n);

#endif
