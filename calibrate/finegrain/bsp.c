/* Is what fine-grained messaging is compared with: whole buffers, which the main thread sends when all threads have
 * arrived. */
#include "calibrate/finegrain/part_exchange.h"

static void begin(struct exchange *exchange)
{
    const struct finegrain_config *config = exchange->config;
    for (size_t i = 0; i < config->peers; i++)
        MPI_Irecv(exchange->received + i * config->bytes, (int)config->bytes, MPI_BYTE, exchange->from[i], (int)i,
                  exchange->comm, &exchange->requests[i]);
}

static void end(struct exchange *exchange)
{
    const struct finegrain_config *config = exchange->config;
    for (size_t i = 0; i < config->peers; i++)
        MPI_Isend(exchange->sent + i * config->bytes, (int)config->bytes, MPI_BYTE, exchange->to[i], (int)i,
                  exchange->comm, &exchange->requests[config->peers + i]);
    exchange_wait((int)(2 * config->peers), exchange->requests);
}

const struct transport bsp_transport = {.n_requests_each = 2, .begin = begin, .end = end};
