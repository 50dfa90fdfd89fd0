/* Exchanges the buffers of an iteration, whole or in parts: a file an interface of MPI has a `struct part_transport`.
 *
 * Each rank sends `peers` buffers and receives as many. What an interface prepares (receives, epochs, persistent
 * requests that are started) is prepared in begin(), before the compute phase. */
#ifndef MPISTAIR_CALIBRATE_FINEGRAIN_PART_EXCHANGE_H
#define MPISTAIR_CALIBRATE_FINEGRAIN_PART_EXCHANGE_H

#include <mpi.h>
#include <stdatomic.h>

#include "calibrate/finegrain/finegrain_config.h"

struct part_transport;

struct exchange {
    const struct finegrain_config *config;
    const struct part_transport *transport; /* of the parts */
    size_t parts;                           /* of a buffer */
    MPI_Comm comm;                          /* of this exchange alone */
    int rank, size;
    int *to, *from;        /* [peers] the rank that gets buffer i, and the one that sends it */
    const char *sent;      /* [peers][bytes] borrowed */
    char *received;        /* [peers][bytes] */
    MPI_Request *requests; /* [requests of the transport] */
    MPI_Win window;
    atomic_size_t n_pending; /* parts that are not yet at their targets (passive) */
};

/* ready() and complete() are called by threads, as thread_pool.h says; all else by the main thread. */
struct part_transport {
    int whole;              /* a buffer has one part, whatever the config says */
    int needs_window;       /* received is a window that open() makes */
    size_t n_requests_each; /* requests a part and buffer */
    /* Prepares what is made once; NULL: nothing. Collective. Returns 0, or -1 with the reason on all ranks. */
    int (*open)(struct exchange *exchange, struct error *error);
    void (*begin)(struct exchange *exchange);
    void (*ready)(struct exchange *exchange, size_t part);    /* NULL: parts are not sent (BSP) */
    void (*complete)(struct exchange *exchange, size_t part); /* NULL: end() waits for them */
    /* Waits until all is sent and received; all threads are done. NULL: each part was waited for. */
    void (*end)(struct exchange *exchange);
    void (*close)(struct exchange *exchange); /* NULL: nothing was made */
};

extern const struct part_transport bsp_transport;

/* Returns how the parts of a config are sent. */
const struct part_transport *transport_of(const struct finegrain_config *config);

/* Makes an exchange of sent[peers][bytes] over a communicator of its own. Collective. Returns 0, or -1 with the
 * reason on all ranks. */
int exchange_open(struct exchange *exchange, const struct finegrain_config *config,
                  const struct part_transport *transport, const char *sent, struct error *error);
void exchange_close(struct exchange *exchange);

#endif
