/* Sends a part by a persistent request, which is made once and started by the thread that is last in the part's
 * bin. */
#include "calibrate/finegrain/part_exchange.h"

static size_t n_of_side(const struct exchange *exchange)
{
    return exchange->config->peers * exchange->config->parts;
}

/* Holds all receives, part by part, then all sends: one call starts all receives. */
static MPI_Request *receives_of(struct exchange *exchange, size_t part)
{
    return exchange->requests + exchange->config->peers * part;
}

static MPI_Request *sends_of(struct exchange *exchange, size_t part)
{
    return receives_of(exchange, part) + n_of_side(exchange);
}

static int persistent_open_requests(struct exchange *exchange, struct error *error)
{
    (void)error;
    for (size_t part = 0; part < exchange->config->parts; part++)
        for (size_t i = 0; i < exchange->config->peers; i++) {
            size_t at = exchange_at(exchange, i, part);
            int bytes = exchange_bytes(exchange, part), tag = exchange_tag(exchange, i, part);
            MPI_Recv_init(exchange->received + at, bytes, MPI_BYTE, exchange->from[i], tag, exchange->comm,
                          &receives_of(exchange, part)[i]);
            MPI_Send_init(exchange->sent + at, bytes, MPI_BYTE, exchange->to[i], tag, exchange->comm,
                          &sends_of(exchange, part)[i]);
        }
    return 0;
}

static void persistent_begin(struct exchange *exchange)
{
    MPI_Startall((int)n_of_side(exchange), exchange->requests);
}

static void persistent_ready(struct exchange *exchange, size_t part)
{
    for (size_t i = 0; i < exchange->config->peers; i++)
        MPI_Start(&sends_of(exchange, part)[i]);
}

static void persistent_complete(struct exchange *exchange, size_t part)
{
    exchange_wait((int)exchange->config->peers, sends_of(exchange, part));
    exchange_wait((int)exchange->config->peers, receives_of(exchange, part));
}

static void persistent_end(struct exchange *exchange)
{
    (void)exchange; /* each part has been waited for */
}

const struct transport persistent_transport = {.n_requests_each = 2,
                                               .open = persistent_open_requests,
                                               .begin = persistent_begin,
                                               .ready = persistent_ready,
                                               .complete = persistent_complete,
                                               .end = persistent_end};
