/* Predicts what computing cores and a message that is received leave each other of the memory's bandwidth. */
#ifndef MPISTAIR_PREDICTOR_MEMORY_CONTENTION_H
#define MPISTAIR_PREDICTOR_MEMORY_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"

/* Holds D's M_local or M_remote; memory_contention.c has the paper's symbols. Bandwidths are in B/s. */
struct memory_side {
    double cores_par, total_par;
    double cores_seq, total_seq;
    double total_par2;
    double alpha;
    double loss_left, loss_right; /* what each further core takes; may be negative */
    double computation;           /* bandwidth of one core, alone */
    double message;               /* alone */
};

struct memory_model {
    struct memory_side local, remote;
    bool has_local, has_remote; /* a side that was not measured has no row */
    bool cpu_copy;              /* a processor copied the messages: they stand for those within a node only */
    uint32_t numa_nodes;        /* on each socket */
    uint32_t cores;             /* on each socket; 0: not known */
};

/* Holds the bandwidths of all n cores together, and of the message; *_alone: without the other. In B/s. */
struct memory_bandwidth {
    double computation, computation_alone;
    double message, message_alone;
};

enum { MEMORY_MAX_CORES = 4096 };

/* Reads the sides that the machine has. Returns 0, or -1 where it has none, or one without some of its values. */
int memory_model_read(const struct machine *machine, struct memory_model *model, struct error *error);
/* Says whether the model has the sides that data on these NUMA nodes ask for. Returns 0, or -1 with the reason, which
 * calls the machine name. */
int memory_model_covers(const struct memory_model *model, const char *name, uint32_t computation_numa,
                        uint32_t message_numa, struct error *error);
/* Predicts what happens when n cores of one socket, 0 to MEMORY_MAX_CORES, compute on data of NUMA node
 * computation_numa while a message is received into NUMA node message_numa; nodes from model.numa_nodes on belong to
 * the other socket. memory_model_covers() holds for them. */
void memory_predict(const struct memory_model *model, uint32_t n, uint32_t computation_numa, uint32_t message_numa,
                    struct memory_bandwidth *bandwidth);

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
