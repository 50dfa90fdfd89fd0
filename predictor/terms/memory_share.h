/* Tells what a message and the cores that compute on its receiver's socket leave each other, as shares of what each has
 * alone: what the term `+memory` and the replay of a run ask of memory contention. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_SHARE_H
#define MPISTAIR_PREDICTOR_MEMORY_SHARE_H

#include "calibrate/machine/machine.h"
#include "predictor/models/memory_contention.h"

/* Messages below this size are beyond what a calibration measures (64 MB): D gives no smaller one. */
enum { MEMORY_LEAST_BYTES = 1000000 };

struct memory_share {
    unsigned levels; /* LEVEL_BIT of those whose messages contend: by how the table was measured */
    uint32_t n_most; /* cores; more count as so many */
    double *keeps;   /* [n_most + 1] B_par_comm(n) / B_seq_comm, > 0 */
    double *slows;   /* [n_most + 1] B_seq_comp(n) / B_par_comp(n), 1 for n = 0 */
};

/* Reads the table for up to n_wanted cores, or as many as its socket has. Returns 0, or -1 with the reason: a value
 * that the machine lacks, or values that leave nothing. */
int memory_share_init(struct memory_share *share, const struct machine *machine, size_t n_wanted, struct error *error);
void memory_share_release(struct memory_share *share);

/* Returns the share of its bandwidth that a message keeps while n cores compute, in the mean: between two whole numbers
 * on the line between their values. */
double memory_share_keeps(const struct memory_share *share, double n);
/* Returns by how much longer these cores compute meanwhile, at least 1. */
double memory_share_slows(const struct memory_share *share, double n);

/* Returns how many threads compute for each that is seen to call MPI, at least 1: the processor time run_s of a rank,
 * less the inside_s that threads were inside MPI, where they poll, over the outside_s that they were not, rounded. 1
 * where run_s is not known (NaN), or next to nothing was outside. */
uint32_t memory_threads(double run_s, double inside_s, double outside_s);

/* Says that the machine's table does not serve messages between nodes, which the run has. Returns -1. */
int memory_share_refuse(const struct machine *machine, struct error *error);

#endif
