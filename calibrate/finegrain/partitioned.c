/* Sends a part as a partition of MPI 4's partitioned communication. An MPI that has none is refused: parts sent in
 * another way would be measured under a name that is not theirs. Open MPI 5.0 has them before it is an MPI 4, and parts
 * of several threads hang in it. */
#include "calibrate/finegrain/part_exchange.h"

#if MPI_VERSION >= 4

#include <sched.h>

static MPI_Request *sends(struct exchange *exchange)
{
    return exchange->requests + exchange->config->peers;
}

static int partitioned_open_requests(struct exchange *exchange, struct error *error)
{
    const struct finegrain_config *config = exchange->config;
    MPI_Count bytes = exchange_bytes(exchange, 0);
    (void)error;
    for (size_t i = 0; i < config->peers; i++) {
        size_t at = exchange_at(exchange, i, 0);
        MPI_Precv_init(exchange->received + at, (int)config->parts, bytes, MPI_BYTE, exchange->from[i], (int)i,
                       exchange->comm, MPI_INFO_NULL, &exchange->requests[i]);
        MPI_Psend_init((void *)(exchange->sent + at), (int)config->parts, bytes, MPI_BYTE, exchange->to[i], (int)i,
                       exchange->comm, MPI_INFO_NULL, &sends(exchange)[i]);
    }
    return 0;
}

static void partitioned_begin(struct exchange *exchange)
{
    MPI_Startall((int)(2 * exchange->config->peers), exchange->requests);
}

static void partitioned_ready(struct exchange *exchange, size_t part)
{
    for (size_t i = 0; i < exchange->config->peers; i++)
        MPI_Pready((int)part, sends(exchange)[i]);
}

/* Waits until the part has come from all peers. */
static void partitioned_complete(struct exchange *exchange, size_t part)
{
    for (size_t i = 0; i < exchange->config->peers; i++) {
        int arrived = 0;
        for (;;) {
            MPI_Parrived(exchange->requests[i], (int)part, &arrived);
            if (arrived)
                break;
            sched_yield();
        }
    }
}

/* Waits for one after the other: MPICH 4.0's MPI_Testall takes the state of a partitioned request for an error. */
static void partitioned_end(struct exchange *exchange)
{
    for (size_t i = 0; i < 2 * exchange->config->peers; i++)
        exchange_wait(1, &exchange->requests[i]);
}

const struct transport partitioned_transport = {.n_requests_each = 2,
                                                .open = partitioned_open_requests,
                                                .begin = partitioned_begin,
                                                .ready = partitioned_ready,
                                                .complete = partitioned_complete,
                                                .end = partitioned_end};

#else

static int open_none(struct exchange *exchange, struct error *error)
{
    (void)exchange;
    return error_set(error, "this MPI has no partitioned communication");
}

const struct transport partitioned_transport = {.n_requests_each = 2, .open = open_none};

#endif
