/* Ranks, tags and places of parts are the same for all interfaces. */
#include "calibrate/finegrain/part_exchange.h"

#include <sched.h>
#include <stdlib.h>

#include "calibrate/finegrain/layout.h"

const struct transport *transport_of(const struct finegrain_config *config)
{
    switch ((enum finegrain_interface)config->interface) {
    case FINEGRAIN_RMA:
        return config->rma == FINEGRAIN_FENCE ? &rma_fence_transport : &rma_passive_transport;
    case FINEGRAIN_PARTITIONED:
        return &partitioned_transport;
    case FINEGRAIN_PERSISTENT:
        return &persistent_transport;
    case FINEGRAIN_P2P:
    case FINEGRAIN_INTERFACES:
        break;
    }
    return &p2p_transport;
}

/* Returns how many requests an exchange has room for. */
static size_t n_requests_of(const struct exchange *exchange, const struct transport *transport)
{
    return exchange->config->peers * exchange->config->parts * transport->n_requests_each;
}

/* Allocates on this rank. Returns 0, or -1 without memory. */
static int allocate(struct exchange *exchange, const struct transport *transport)
{
    size_t peers = exchange->config->peers, n_requests = n_requests_of(exchange, transport);
    exchange->to = calloc(peers, sizeof *exchange->to);
    exchange->from = calloc(peers, sizeof *exchange->from);
    exchange->requests = malloc((n_requests + 1) * sizeof *exchange->requests);
    for (size_t i = 0; i < n_requests && exchange->requests != NULL; i++)
        exchange->requests[i] = MPI_REQUEST_NULL;
    if (!transport->needs_window)
        exchange->received = calloc(peers, exchange->config->bytes);
    if (exchange->to == NULL || exchange->from == NULL || exchange->requests == NULL ||
        (!transport->needs_window && exchange->received == NULL))
        return -1;
    for (size_t i = 0; i < peers; i++) {
        int distance = layout_distance(i, exchange->size);
        exchange->to[i] = layout_rank(exchange->rank, distance, exchange->size);
        exchange->from[i] = layout_rank(exchange->rank, -distance, exchange->size);
    }
    return 0;
}

/* Returns the largest tag of a communicator. */
static int tag_most(MPI_Comm comm)
{
    int *most, is_set;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &is_set);
    return is_set ? *most : 32767;
}

int exchange_open(struct exchange *exchange, const struct finegrain_config *config, const struct transport *transport,
                  const char *sent, struct error *error)
{
    *exchange = (struct exchange){.config = config, .sent = sent, .window = MPI_WIN_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &exchange->comm);
    MPI_Comm_rank(exchange->comm, &exchange->rank);
    MPI_Comm_size(exchange->comm, &exchange->size);
    if (config->peers * config->parts > (uint64_t)tag_most(exchange->comm))
        return error_set(error, "--peers times --parts: expected at most %d, the largest tag of this MPI",
                         tag_most(exchange->comm));
    int lacks = allocate(exchange, transport) != 0;
    MPI_Allreduce(MPI_IN_PLACE, &lacks, 1, MPI_INT, MPI_MAX, exchange->comm);
    if (lacks)
        return error_set(error, "no memory for %llu buffers of %llu bytes a rank", (unsigned long long)config->peers,
                         (unsigned long long)config->bytes);
    return transport->open != NULL ? transport->open(exchange, error) : 0;
}

void exchange_close(struct exchange *exchange, const struct transport *transport)
{
    if (exchange->config == NULL)
        return;
    if (transport->close != NULL)
        transport->close(exchange);
    for (size_t i = 0; exchange->requests != NULL && i < n_requests_of(exchange, transport); i++)
        if (exchange->requests[i] != MPI_REQUEST_NULL) /* persistent */
            MPI_Request_free(&exchange->requests[i]);
    if (!transport->needs_window)
        free(exchange->received);
    free(exchange->to);
    free(exchange->from);
    free(exchange->requests);
    MPI_Comm_free(&exchange->comm);
}

size_t exchange_at(const struct exchange *exchange, size_t buffer, size_t part)
{
    const struct finegrain_config *config = exchange->config;
    return buffer * config->bytes + layout_part(config->bytes, config->parts, part).begin;
}

int exchange_bytes(const struct exchange *exchange, size_t part)
{
    return (int)layout_part(exchange->config->bytes, exchange->config->parts, part).bytes;
}

int exchange_tag(const struct exchange *exchange, size_t buffer, size_t part)
{
    return (int)(buffer * exchange->config->parts + part);
}

void exchange_wait(int n, MPI_Request *requests)
{
    int done = 0;
    for (;;) {
        if (n == 1)
            MPI_Test(requests, &done, MPI_STATUS_IGNORE);
        else
            MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
        if (done)
            return;
        sched_yield();
    }
}

/* BSP, what fine-grained messaging is compared with: the main thread sends whole buffers when all threads have
 * arrived. */
static void bsp_begin(struct exchange *exchange)
{
    const struct finegrain_config *config = exchange->config;
    for (size_t i = 0; i < config->peers; i++)
        MPI_Irecv(exchange->received + i * config->bytes, (int)config->bytes, MPI_BYTE, exchange->from[i], (int)i,
                  exchange->comm, &exchange->requests[i]);
}

static void bsp_end(struct exchange *exchange)
{
    const struct finegrain_config *config = exchange->config;
    for (size_t i = 0; i < config->peers; i++)
        MPI_Isend(exchange->sent + i * config->bytes, (int)config->bytes, MPI_BYTE, exchange->to[i], (int)i,
                  exchange->comm, &exchange->requests[config->peers + i]);
    exchange_wait((int)(2 * config->peers), exchange->requests);
}

const struct transport bsp_transport = {.n_requests_each = 2, .begin = bsp_begin, .end = bsp_end};
