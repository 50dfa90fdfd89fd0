/* Ranks, tags and places of parts are the same for all interfaces. */
#include "calibrate/finegrain/part_exchange.h"

#include <sched.h>
#include <stdlib.h>

#include "calibrate/finegrain/layout.h"
#include "calibrate/measure/measure.h"
#include "share/base/memory.h"

/* Returns the place of a part of a buffer among sent or received. */
static size_t exchange_at(const struct exchange *exchange, size_t buffer, size_t part)
{
    return buffer * exchange->config->bytes + layout_part(exchange->config->bytes, exchange->parts, part).begin;
}

static int exchange_bytes(const struct exchange *exchange, size_t part)
{
    return (int)layout_part(exchange->config->bytes, exchange->parts, part).bytes;
}

static int exchange_tag(const struct exchange *exchange, size_t buffer, size_t part)
{
    return (int)(buffer * exchange->parts + part);
}

/* Sends a part as a message of its own, by MPI_Isend of the thread that is last in the part's bin. */

/* Returns the requests of a part: receives of all peers, then sends. */
static MPI_Request *of_part(struct exchange *exchange, size_t part)
{
    return exchange->requests + 2 * exchange->config->peers * part;
}

static MPI_Request *sends_of(struct exchange *exchange, size_t part)
{
    return of_part(exchange, part) + exchange->config->peers;
}

static void p2p_begin(struct exchange *exchange)
{
    for (size_t part = 0; part < exchange->parts; part++)
        for (size_t i = 0; i < exchange->config->peers; i++)
            MPI_Irecv(exchange->received + exchange_at(exchange, i, part), exchange_bytes(exchange, part), MPI_BYTE,
                      exchange->from[i], exchange_tag(exchange, i, part), exchange->comm, &of_part(exchange, part)[i]);
}

static void p2p_ready(struct exchange *exchange, size_t part)
{
    for (size_t i = 0; i < exchange->config->peers; i++)
        MPI_Isend(exchange->sent + exchange_at(exchange, i, part), exchange_bytes(exchange, part), MPI_BYTE,
                  exchange->to[i], exchange_tag(exchange, i, part), exchange->comm, &sends_of(exchange, part)[i]);
}

/* Waits for the part's sends and receives, so that they move while other threads compute. */
static void p2p_complete(struct exchange *exchange, size_t part)
{
    wait_yielding((int)(2 * exchange->config->peers), of_part(exchange, part));
}

static const struct part_transport p2p_transport = {
    .n_requests_each = 2, .begin = p2p_begin, .ready = p2p_ready, .complete = p2p_complete};

/* Sends a part by a persistent request, which is made once and started by the thread that is last in the part's
 * bin. */

static int persistent_open_requests(struct exchange *exchange, struct error *error)
{
    (void)error;
    for (size_t part = 0; part < exchange->parts; part++)
        for (size_t i = 0; i < exchange->config->peers; i++) {
            size_t at = exchange_at(exchange, i, part);
            int bytes = exchange_bytes(exchange, part), tag = exchange_tag(exchange, i, part);
            MPI_Recv_init(exchange->received + at, bytes, MPI_BYTE, exchange->from[i], tag, exchange->comm,
                          &of_part(exchange, part)[i]);
            MPI_Send_init(exchange->sent + at, bytes, MPI_BYTE, exchange->to[i], tag, exchange->comm,
                          &sends_of(exchange, part)[i]);
        }
    return 0;
}

static void persistent_begin(struct exchange *exchange)
{
    for (size_t part = 0; part < exchange->parts; part++)
        MPI_Startall((int)exchange->config->peers, of_part(exchange, part));
}

static void persistent_ready(struct exchange *exchange, size_t part)
{
    for (size_t i = 0; i < exchange->config->peers; i++)
        MPI_Start(&sends_of(exchange, part)[i]);
}

static const struct part_transport persistent_transport = {.n_requests_each = 2,
                                                           .open = persistent_open_requests,
                                                           .begin = persistent_begin,
                                                           .ready = persistent_ready,
                                                           .complete = p2p_complete};

/* Sends a part as a partition of MPI 4's partitioned communication. An MPI that has none is refused: parts sent in
 * another way would be measured under a name that is not theirs. Open MPI 5.0 has them before it is an MPI 4, and parts
 * of several threads hang in it. */

#if MPI_VERSION >= 4

static int partitioned_open_requests(struct exchange *exchange, struct error *error)
{
    const struct finegrain_config *config = exchange->config;
    MPI_Count bytes = exchange_bytes(exchange, 0);
    (void)error;
    for (size_t i = 0; i < config->peers; i++) {
        size_t at = exchange_at(exchange, i, 0);
        MPI_Precv_init(exchange->received + at, (int)exchange->parts, bytes, MPI_BYTE, exchange->from[i], (int)i,
                       exchange->comm, MPI_INFO_NULL, &exchange->requests[i]);
        MPI_Psend_init((void *)(exchange->sent + at), (int)exchange->parts, bytes, MPI_BYTE, exchange->to[i], (int)i,
                       exchange->comm, MPI_INFO_NULL, &sends_of(exchange, 0)[i]);
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
        MPI_Pready((int)part, sends_of(exchange, 0)[i]);
}

/* Waits until the part has come from all peers. */
static void partitioned_complete(struct exchange *exchange, size_t part)
{
    for (size_t i = 0; i < exchange->config->peers; i++)
        for (int arrived = 0; !arrived;) {
            MPI_Parrived(exchange->requests[i], (int)part, &arrived);
            if (!arrived)
                sched_yield();
        }
}

/* Waits for one after the other: MPICH 4.0's MPI_Testall takes the state of a partitioned request for an error. */
static void partitioned_end(struct exchange *exchange)
{
    for (size_t i = 0; i < 2 * exchange->config->peers; i++)
        wait_yielding(1, &exchange->requests[i]);
}

static const struct part_transport partitioned_transport = {.n_requests_each = 2,
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

static const struct part_transport partitioned_transport = {.n_requests_each = 2, .open = open_none};

#endif

/* Puts a part into the window of its peer, by the thread that is last in the part's bin. The window is made once.
 *
 * fence: an epoch opens before the compute phase and closes when all threads are done; the closing fence says that
 * all has arrived. passive: all targets are locked once. A thread waits for its puts and flushes them, so that
 * early parts move early; it puts by MPI_Rput, since a thread that only flushes spins in the MPI until all is
 * done, and others arrive a millisecond late where processors are few. The one that flushes the last part of the
 * iteration notifies each peer by an empty message a buffer, since a flush does not inform the target: so many
 * messages an iteration, however many parts there are. */

/* Windows have whole pages: of other sizes MPICH 4.0 lays those of a node over each other by some bytes. */
enum { WINDOW_STEP_BYTES = 4096 };

/* Makes the window in memory that the MPI chooses. */
static int open_window(struct exchange *exchange, struct error *error)
{
    const struct finegrain_config *config = exchange->config;
    size_t bytes = config->peers * config->bytes;
    size_t step_bytes = (bytes + WINDOW_STEP_BYTES - 1) / WINDOW_STEP_BYTES * WINDOW_STEP_BYTES;
    MPI_Comm_set_errhandler(exchange->comm, MPI_ERRORS_RETURN);
    int result = MPI_Win_allocate((MPI_Aint)step_bytes, 1, MPI_INFO_NULL, exchange->comm, &exchange->received,
                                  &exchange->window);
    MPI_Comm_set_errhandler(exchange->comm, MPI_ERRORS_ARE_FATAL);
    int lacks = result != MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &lacks, 1, MPI_INT, MPI_MAX, exchange->comm);
    if (lacks)
        return error_set(
            error,
            "MPI_Win_allocate of %llu bytes failed: this MPI has no windows between these ranks for threads "
            "(Open MPI 4 has none over TCP); take another --interface",
            (unsigned long long)step_bytes);
    return 0;
}

static void put_part(struct exchange *exchange, size_t part)
{
    int bytes = exchange_bytes(exchange, part);
    for (size_t i = 0; i < exchange->config->peers; i++) {
        size_t at = exchange_at(exchange, i, part);
        MPI_Put(exchange->sent + at, bytes, MPI_BYTE, exchange->to[i], (MPI_Aint)at, bytes, MPI_BYTE, exchange->window);
    }
}

static void fence_begin(struct exchange *exchange)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, exchange->window);
}

static void fence_end(struct exchange *exchange)
{
    MPI_Win_fence(MPI_MODE_NOSUCCEED, exchange->window);
}

static void fence_close(struct exchange *exchange)
{
    if (exchange->window != MPI_WIN_NULL)
        MPI_Win_free(&exchange->window);
}

static const struct part_transport rma_fence_transport = {.needs_window = 1,
                                                          .n_requests_each = 2,
                                                          .open = open_window,
                                                          .begin = fence_begin,
                                                          .ready = put_part,
                                                          .end = fence_end,
                                                          .close = fence_close};

static int passive_open(struct exchange *exchange, struct error *error)
{
    if (open_window(exchange, error) != 0)
        return -1;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, exchange->window);
    return 0;
}

static void passive_begin(struct exchange *exchange)
{
    atomic_store(&exchange->n_pending, exchange->parts);
    for (size_t i = 0; i < exchange->config->peers; i++)
        MPI_Irecv(NULL, 0, MPI_BYTE, exchange->from[i], (int)i, exchange->comm, &exchange->requests[i]);
}

/* Returns the requests of a part's puts; those of the notifications that come, and that go, are before them. */
static MPI_Request *puts_of(struct exchange *exchange, size_t part)
{
    return exchange->requests + (2 + part) * exchange->config->peers;
}

static void passive_ready(struct exchange *exchange, size_t part)
{
    int bytes = exchange_bytes(exchange, part);
    for (size_t i = 0; i < exchange->config->peers; i++) {
        size_t at = exchange_at(exchange, i, part);
        MPI_Rput(exchange->sent + at, bytes, MPI_BYTE, exchange->to[i], (MPI_Aint)at, bytes, MPI_BYTE, exchange->window,
                 &puts_of(exchange, part)[i]);
    }
}

/* Lets the part arrive, and notifies the peers after the last one. */
static void passive_complete(struct exchange *exchange, size_t part)
{
    size_t peers = exchange->config->peers;
    wait_yielding((int)peers, puts_of(exchange, part));
    MPI_Win_flush_all(exchange->window);
    if (atomic_fetch_sub(&exchange->n_pending, 1) != 1)
        return;
    for (size_t i = 0; i < peers; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, exchange->to[i], (int)i, exchange->comm, &exchange->requests[peers + i]);
}

static void passive_end(struct exchange *exchange)
{
    wait_yielding((int)(2 * exchange->config->peers), exchange->requests);
    MPI_Win_sync(exchange->window);
}

static void passive_close(struct exchange *exchange)
{
    if (exchange->window == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(exchange->window);
    MPI_Win_free(&exchange->window);
}

static const struct part_transport rma_passive_transport = {.needs_window = 1,
                                                            .n_requests_each = 3,
                                                            .open = passive_open,
                                                            .begin = passive_begin,
                                                            .ready = passive_ready,
                                                            .complete = passive_complete,
                                                            .end = passive_end,
                                                            .close = passive_close};

const struct part_transport *transport_of(const struct finegrain_config *config)
{
    static const struct part_transport *const transports[FINEGRAIN_INTERFACES] = {
        &p2p_transport, &rma_fence_transport, &partitioned_transport, &persistent_transport};
    bool is_passive = config->interface == FINEGRAIN_RMA && config->rma == FINEGRAIN_PASSIVE;
    return is_passive ? &rma_passive_transport : transports[config->interface];
}

/* Returns how many requests an exchange has room for. */
static size_t n_requests_of(const struct exchange *exchange)
{
    return exchange->config->peers * exchange->parts * exchange->transport->n_requests_each;
}

/* Allocates on this rank. */
static void allocate(struct exchange *exchange)
{
    size_t peers = exchange->config->peers, n_requests = n_requests_of(exchange);
    exchange->to = xcalloc(peers, sizeof *exchange->to);
    exchange->from = xcalloc(peers, sizeof *exchange->from);
    exchange->requests = xcalloc(n_requests, sizeof *exchange->requests);
    for (size_t i = 0; i < n_requests; i++)
        exchange->requests[i] = MPI_REQUEST_NULL;
    if (!exchange->transport->needs_window)
        exchange->received = xcalloc(peers, exchange->config->bytes);
    for (size_t i = 0; i < peers; i++) {
        int distance = layout_distance(i, exchange->size);
        exchange->to[i] = layout_rank(exchange->rank, distance, exchange->size);
        exchange->from[i] = layout_rank(exchange->rank, -distance, exchange->size);
    }
}

/* Returns the largest tag of a communicator. */
static int tag_most(MPI_Comm comm)
{
    int *most, is_set;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &is_set);
    return is_set ? *most : 32767;
}

int exchange_open(struct exchange *exchange, const struct finegrain_config *config,
                  const struct part_transport *transport, const char *sent, struct error *error)
{
    *exchange = (struct exchange){.config = config,
                                  .transport = transport,
                                  .parts = transport->whole ? 1 : config->parts,
                                  .sent = sent,
                                  .window = MPI_WIN_NULL};
    MPI_Comm_dup(MPI_COMM_WORLD, &exchange->comm);
    MPI_Comm_rank(exchange->comm, &exchange->rank);
    MPI_Comm_size(exchange->comm, &exchange->size);
    if (config->peers * config->parts > (uint64_t)tag_most(exchange->comm))
        return error_set(error, "--peers times --parts: expected at most %d, the largest tag of this MPI",
                         tag_most(exchange->comm));
    allocate(exchange);
    return transport->open != NULL ? transport->open(exchange, error) : 0;
}

void exchange_close(struct exchange *exchange)
{
    if (exchange->config == NULL)
        return;
    if (exchange->transport->close != NULL)
        exchange->transport->close(exchange);
    for (size_t i = 0; exchange->requests != NULL && i < n_requests_of(exchange); i++)
        if (exchange->requests[i] != MPI_REQUEST_NULL) /* persistent */
            MPI_Request_free(&exchange->requests[i]);
    if (!exchange->transport->needs_window)
        free(exchange->received);
    free(exchange->to);
    free(exchange->from);
    free(exchange->requests);
    MPI_Comm_free(&exchange->comm);
}

/* BSP, what fine-grained messaging is compared with: the main thread sends whole buffers when all threads have
 * arrived. */
static void bsp_end(struct exchange *exchange)
{
    p2p_ready(exchange, 0);
    p2p_complete(exchange, 0);
}

const struct part_transport bsp_transport = {.whole = 1, .n_requests_each = 2, .begin = p2p_begin, .end = bsp_end};
