/* Sends a part as a message of its own, by MPI_Isend of the thread that is last in the part's bin. */
#include "calibrate/finegrain/part_exchange.h"

/* Returns the requests of a part: receives of all peers, then sends. */
static MPI_Request *of_part(struct exchange *exchange, size_t part)
{
    return exchange->requests + 2 * exchange->config->peers * part;
}

static void p2p_begin(struct exchange *exchange)
{
    for (size_t part = 0; part < exchange->config->parts; part++)
        for (size_t i = 0; i < exchange->config->peers; i++)
            MPI_Irecv(exchange->received + exchange_at(exchange, i, part), exchange_bytes(exchange, part), MPI_BYTE,
                      exchange->from[i], exchange_tag(exchange, i, part), exchange->comm, &of_part(exchange, part)[i]);
}

static void p2p_ready(struct exchange *exchange, size_t part)
{
    MPI_Request *sends = of_part(exchange, part) + exchange->config->peers;
    for (size_t i = 0; i < exchange->config->peers; i++)
        MPI_Isend(exchange->sent + exchange_at(exchange, i, part), exchange_bytes(exchange, part), MPI_BYTE,
                  exchange->to[i], exchange_tag(exchange, i, part), exchange->comm, &sends[i]);
}

/* Waits for the part's sends and receives, so that they move while other threads compute. */
static void p2p_complete(struct exchange *exchange, size_t part)
{
    exchange_wait((int)(2 * exchange->config->peers), of_part(exchange, part));
}

static void p2p_end(struct exchange *exchange)
{
    (void)exchange; /* each part has been waited for */
}

const struct transport p2p_transport = {
    .n_requests_each = 2, .begin = p2p_begin, .ready = p2p_ready, .complete = p2p_complete, .end = p2p_end};
