/* Puts a part into the window of its peer, by the thread that is last in the part's bin. The window is made once.
 *
 * fence: an epoch opens before the compute phase and closes when all threads are done; the closing fence says that
 * all has arrived. passive: all targets are locked once. A thread waits for its puts and flushes them, so that
 * early parts move early; it puts by MPI_Rput, since a thread that only flushes spins in the MPI until all is
 * done, and others arrive a millisecond late where processors are few. The one that flushes the last part of the
 * iteration notifies each peer by an empty message a buffer, since a flush tells the target nothing: so many
 * messages an iteration, however many parts there are. */
#include "calibrate/finegrain/part_exchange.h"

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

static void put(struct exchange *exchange, size_t part)
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

const struct transport rma_fence_transport = {.needs_window = 1,
                                              .n_requests_each = 2,
                                              .open = open_window,
                                              .begin = fence_begin,
                                              .ready = put,
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
    atomic_store(&exchange->n_pending, exchange->config->parts);
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

/* Lets the part arrive, and tells the peers when it was the last one. */
static void passive_complete(struct exchange *exchange, size_t part)
{
    size_t peers = exchange->config->peers;
    exchange_wait((int)peers, puts_of(exchange, part));
    MPI_Win_flush_all(exchange->window);
    if (atomic_fetch_sub(&exchange->n_pending, 1) != 1)
        return;
    for (size_t i = 0; i < peers; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, exchange->to[i], (int)i, exchange->comm, &exchange->requests[peers + i]);
}

static void passive_end(struct exchange *exchange)
{
    exchange_wait((int)(2 * exchange->config->peers), exchange->requests);
    MPI_Win_sync(exchange->window);
}

static void passive_close(struct exchange *exchange)
{
    if (exchange->window == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(exchange->window);
    MPI_Win_free(&exchange->window);
}

const struct transport rma_passive_transport = {.needs_window = 1,
                                                .n_requests_each = 3,
                                                .open = passive_open,
                                                .begin = passive_begin,
                                                .ready = passive_ready,
                                                .complete = passive_complete,
                                                .end = passive_end,
                                                .close = passive_close};
