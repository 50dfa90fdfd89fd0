/* The record is stored before MPI is called, so that a process that is killed in the call leaves it behind. While
 * recording is off calls are added to the totals instead. A transfer of one-sided communication has no partner that
 * could be matched, so all that its arguments say goes into its own record. See access.h. */
#include "interpose/backend/family/access.h"

#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/table/handle_table.h"
#include "interpose/backend/table/request_table.h"

struct access_objects access_objects[] = {
    [ACCESS_WINDOW] = {.live = LIVE_TABLE_INITIALIZER}, [ACCESS_FILE] = {.live = LIVE_TABLE_INITIALIZER}};

void access_sum(const struct access_call *access, uint64_t bytes)
{
    const struct recorded_call *call = &access->call;
    uint32_t communicator = access->object ? (uint32_t)(access->object >> 32) : SPOOL_NO_COMMUNICATOR;
    const struct total_call one = {
        .site = call->site,
        .partner = total_partner(communicator, access->target >= 0 ? access->target : TOTAL_NO_PEER),
        .rest = total_rest(call->function, bytes, total_off()),
        .bytes = bytes,
        .begin_ticks = call->begin_ticks,
        .ticks = now_ticks() - call->begin_ticks};
    if (call->thread->n_places != 0)
        total_end_row(call->thread);
    total_add(access->sort == ACCESS_FILE ? WINDOW_FILE : WINDOW_ONE_SIDED, &one, 0);
}

void access_request_end(struct access_call *access, int result, const MPI_Request *request)
{
    if (!access->record) {
        access_end(access, result);
        return;
    }
    access->record->flags |= SPOOL_NONBLOCKING;
    access->record->call_ticks = saturate_ticks(now_ticks() - access->call.begin_ticks);
    if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        request_table_add(access->call.thread, HANDLE_KEY(*request), access->record);
    else
        access_end(access, result);
}

void access_create_begin(struct access_call *access, enum access_sort sort, MPI_Comm comm)
{
    uint32_t communicator = communicator_index(access->call.thread, comm);
    if (communicator == COMMUNICATOR_NONE) {
        access->call.thread = NULL;
        return;
    }
    uint32_t number = __atomic_add_fetch(&access_objects[sort].n_made, 1, __ATOMIC_RELAXED);
    access_begin(access, sort, (uintptr_t)communicator << 32 | number, -1, 0, -1);
}

void access_create_end(struct access_call *access, int result, const void *made, size_t bytes)
{
    if (result == MPI_SUCCESS &&
        live_table_put(&access_objects[access->sort].live, handle_key(made, bytes), (void *)access->object) != 0)
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
    access_end(access, result);
}

void access_free_begin(struct access_call *access, enum access_sort sort, const void *freed, size_t bytes)
{
    access->handle = freed ? handle_key(freed, bytes) : 0;
    access_begin(access, sort, (uintptr_t)live_table_take(&access_objects[sort].live, access->handle), -1, 0, -1);
}

void access_free_end(struct access_call *access, int result)
{
    if (result != MPI_SUCCESS && access->object)
        live_table_put(&access_objects[access->sort].live, access->handle, (void *)access->object);
    access_end(access, result);
}

void win_test_begin(struct win_test_call *test, const struct rma_arguments *arguments)
{
    test->window = arguments->window;
}

void win_test_end(struct win_test_call *test, int result, const int *flag)
{
    if (result == MPI_SUCCESS && !*flag) {
        timed_call_idle(&test->access.call, now_ticks());
        return;
    }
    access_begin(&test->access, ACCESS_WINDOW, access_object(ACCESS_WINDOW, HANDLE_KEY(test->window)), -1, 0, -1);
    access_end(&test->access, result);
}

void file_begin(struct access_call *file, const struct file_arguments *arguments)
{
    access_begin(file, ACCESS_FILE, access_object(ACCESS_FILE, HANDLE_KEY(arguments->file)), -1,
                 elements_bytes(arguments->count, arguments->datatype), arguments->offset);
}
