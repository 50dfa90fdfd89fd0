/* Asks a machine's table what the messages of a fine-grained exchange cost. */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_COSTS_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_COSTS_H

#include <stdbool.h>

#include "calibrate/machine/machine.h"
#include "predictor/finegrain/finegrain.h"

/* Says by what parts are sent; whole buffers always go by P2P. */
enum finegrain_interface {
    FINEGRAIN_P2P,         /* MPI_Isend */
    FINEGRAIN_RMA,         /* MPI_Put */
    FINEGRAIN_PARTITIONED, /* MPI_Pready */
    FINEGRAIN_PERSISTENT,  /* MPI_Start */
    FINEGRAIN_INTERFACE_COUNT
};
extern const char *const finegrain_interface_name[FINEGRAIN_INTERFACE_COUNT];
/* Turns a name into its interface. Returns 0, or -1 if there is none. */
int finegrain_interface_parse(const char *name, enum finegrain_interface *found);

/* Says what the table did not know, over all calls with the same notes. */
struct finegrain_notes {
    bool tau_missing[FINEGRAIN_INTERFACE_COUNT]; /* tau stands in its place */
    bool tau_thread_missing;                     /* 0 stands in its place */
    bool queue_missing;                          /* as well */
    bool is_late;                                /* partitions leave only when the last one is ready */
    bool extrapolated;                           /* BW(ppn) is beyond the table's n */
};

/* Sets tau, rates and queues of a problem whose peers, bytes, threads and parts are set. ppn ranks share the bandwidth
 * of the level. Returns 0, or -1 with the reason where the table lacks the level. */
int finegrain_costs(const struct machine *machine, enum level level, enum finegrain_interface by, uint32_t ppn,
                    struct finegrain_problem *problem, struct finegrain_notes *notes, struct error *error);
/* Names the row of the table that tells the cost of a message by an interface. */
const char *finegrain_quantity(enum finegrain_interface by);

#endif
