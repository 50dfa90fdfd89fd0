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

#endif
