/* Computes what it takes to send a rank's buffers whole, once all threads are done, or in parts as they get ready, and
 * asks a machine's table what their messages cost (share/doc/MODELS.md, Fine-grained messages). */
#ifndef MPISTAIR_PREDICTOR_FINEGRAIN_H
#define MPISTAIR_PREDICTOR_FINEGRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrate/machine/machine.h"

/* Holds what one rank sends: each of its peers gets a buffer of so many bytes, to which every thread contributes an
 * equal share, and which leaves whole or in equal parts. */
struct finegrain_problem {
    uint32_t peers;
    uint64_t bytes;           /* to each peer, from 0 on */
    uint32_t threads, parts;  /* parts divides threads */
    bool is_late;             /* parts leave only when the last one is ready */
    double tau_s;             /* of a whole buffer's message */
    double tau_fine_s;        /* of a part's message, with what threads cost each other */
    double bytes_per_s;       /* at which whole buffers move; INFINITY is allowed, too */
    double fine_bytes_per_s;  /* at which parts move: another one where they have another protocol */
    double queue_s;           /* search for the receives of all whole buffers */
    double queue_fine_s;      /* search for the receives of all parts of all buffers, or what their requests cost */
    const double *arrivals_s; /* [threads], from the begin of the computation until a thread is done */
};

/* Holds times from the begin of the computation until all is sent. */
struct finegrain_times {
    double bsp_s;
    double fine_s;
    double bound_s; /* fine_s is never less, whatever the interface costs */
    double last_s; /* when the last thread is done: fine_s is never less, into however many parts buffers are divided */
};

/* Computes the times. scratch_s[problem->parts] is overwritten. O(threads + parts log parts). */
void finegrain_predict(const struct finegrain_problem *problem, double *scratch_s, struct finegrain_times *times);

/* Returns what one part costs, to all peers, in s. */
double finegrain_part_s(const struct finegrain_problem *problem);

/* Returns by how many per cent fine_s is less than bsp_s; 0 where nothing takes time. */
double finegrain_speedup_percent(double bsp_s, double fine_s);

/* Says by what parts are sent; whole buffers always go by P2P. */
enum finegrain_interface {
    FINEGRAIN_P2P,         /* MPI_Isend */
    FINEGRAIN_RMA,         /* MPI_Put */
    FINEGRAIN_PARTITIONED, /* MPI_Pready */
    FINEGRAIN_PERSISTENT,  /* MPI_Start */
    FINEGRAIN_INTERFACE_COUNT
};
extern const char *const finegrain_interface_name[FINEGRAIN_INTERFACE_COUNT];

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
