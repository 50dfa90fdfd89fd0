/* A transfer of one-sided communication has no partner that could be matched, so all that its arguments say goes into
 * its own record. See rma.h. */
#include "interpose/backend/family/rma.h"

#include "interpose/backend/table/live_table.h"
#include "interpose/backend/family/operation.h"
#include "interpose/backend/recorder/timed_call.h"

static struct live_table windows = LIVE_TABLE_INITIALIZER;
static uint32_t n_windows; /* made so far */

/* Packs a window for the table: its number in the lower half, its communicator in the upper one. */
static uintptr_t window_value(uint32_t number, uint32_t communicator)
{
    return (uintptr_t)communicator << 32 | number;
}

static uint64_t transfer_bytes(const struct rma_arguments *a)
{
    if (a->target == MPI_PROC_NULL)
        return 0;
    uint64_t bytes = a->op == MPI_NO_OP ? 0 : elements_bytes(a->origin_count, a->origin_type);
    return bytes + elements_bytes(a->result_count, a->result_type);
}

/* Reserves the record of a call on a window (0: not known); the caller publishes it. */
static void reserve(struct rma_call *rma, uintptr_t window)
{
    struct spool_rma *record = NULL;
    rma->summed = __atomic_load_n(&recorder.off, __ATOMIC_RELAXED) || rma->call.thread->n_rma++ >= recorder.detail;
    if (rma->summed) {
        rma->key = sum_key_of(&rma->call);
        rma->key.communicator = window ? (uint32_t)(window >> 32) : SPOOL_NO_COMMUNICATOR;
        rma->bytes = 0;
    } else {
        record = spool_lane_reserve(rma->call.thread->lane, sizeof *record);
    }
    rma->record = record;
    if (!record)
        return;
    record->function = (uint16_t)rma->call.function;
    record->communicator = window ? (uint32_t)(window >> 32) : SPOOL_NO_COMMUNICATOR;
    record->window = (uint32_t)window;
    record->target = -1;
    record->begin_ticks = rma->call.begin_ticks;
    record->site = rma->call.site;
    record->stack = rma->call.thread->stack;
}

/* Stores the record of a call with all that its arguments say. */
static void store(struct rma_call *rma, const struct rma_arguments *a)
{
    reserve(rma, (uintptr_t)live_table_get(&windows, HANDLE_KEY(a->window)));
    if (rma->summed) {
        rma->key.target = a->target >= 0 ? a->target : -1;
        rma->bytes = transfer_bytes(a);
    }
    if (!rma->record)
        return;
    rma->record->target = a->target >= 0 ? a->target : -1;
    rma->record->bytes = transfer_bytes(a);
    spool_record_publish(rma->record, SPOOL_RMA);
}

void rma_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site,
               const struct rma_arguments *arguments)
{
    rma->record = NULL;
    rma->summed = 0;
    if (call_begin(&rma->call, function, site))
        store(rma, arguments);
}

/* Ends the call, and with it what it stands for. */
static void end(struct rma_call *rma, int result)
{
    if (rma->summed)
        sum_add(&rma->call, &rma->key, rma->bytes, clock_ticks(recorder.clock_source));
    if (!rma->record)
        return;
    if (result != MPI_SUCCESS)
        rma->record->flags |= SPOOL_FAILED;
    __atomic_store_n(&rma->record->end_ticks, clock_ticks(recorder.clock_source), __ATOMIC_RELEASE);
}

void rma_end(struct rma_call *rma, int result)
{
    if ((rma->record || rma->summed) && call_recorded(&rma->call))
        end(rma, result);
}

void rma_request_end(struct rma_call *rma, int result, const MPI_Request *request)
{
    if (rma->summed)
        rma_end(rma, result);
    if (!rma->record || !call_recorded(&rma->call))
        return;
    rma->record->flags |= SPOOL_NONBLOCKING;
    rma->record->call_ticks = saturate_ticks(clock_ticks(recorder.clock_source) - rma->call.begin_ticks);
    if (result == MPI_SUCCESS)
        request_table_add(rma->call.thread, HANDLE_KEY(*request), rma->record);
    else
        end(rma, result);
}

void win_test_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site,
                    const struct rma_arguments *arguments)
{
    call_begin(&rma->call, function, site);
    rma->record = NULL;
    rma->summed = 0;
    rma->handle = arguments->window;
}

void win_test_end(struct rma_call *rma, int result, const int *flag)
{
    const struct rma_arguments arguments = {.window = rma->handle, .target = MPI_PROC_NULL};
    if (!call_recorded(&rma->call))
        return;
    if (result == MPI_SUCCESS && !*flag) {
        timed_call_idle(&rma->call, clock_ticks(recorder.clock_source));
        return;
    }
    store(rma, &arguments);
    end(rma, result);
}

void win_create_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site, MPI_Comm comm)
{
    rma->record = NULL;
    rma->summed = 0;
    if (!call_begin(&rma->call, function, site))
        return;
    uint32_t communicator = communicator_index(rma->call.thread, comm);
    if (communicator == COMMUNICATOR_NONE) {
        rma->call.thread = NULL;
        return;
    }
    uint32_t number = __atomic_add_fetch(&n_windows, 1, __ATOMIC_RELAXED);
    rma->window = window_value(number, communicator);
    reserve(rma, rma->window);
    if (rma->record)
        spool_record_publish(rma->record, SPOOL_RMA);
}

void win_create_end(struct rma_call *rma, int result, const MPI_Win *made)
{
    if (!call_recorded(&rma->call))
        return;
    if (result == MPI_SUCCESS && live_table_put(&windows, HANDLE_KEY(*made), (void *)rma->window) != 0)
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
    rma_end(rma, result);
}

void win_free_begin(struct rma_call *rma, enum mpistair_function function, uint64_t site, const MPI_Win *window)
{
    rma->record = NULL;
    rma->summed = 0;
    if (!call_begin(&rma->call, function, site))
        return;
    rma->handle = *window;
    rma->window = (uintptr_t)live_table_take(&windows, HANDLE_KEY(*window));
    reserve(rma, rma->window);
    if (rma->record)
        spool_record_publish(rma->record, SPOOL_RMA);
}

void win_free_end(struct rma_call *rma, int result)
{
    if (!call_recorded(&rma->call))
        return;
    if (result != MPI_SUCCESS && rma->window)
        live_table_put(&windows, HANDLE_KEY(rma->handle), (void *)rma->window);
    rma_end(rma, result);
}
