/* The record is stored before MPI is called, so that a process that is killed in the call leaves it behind. While
 * recording is off calls are added to the totals instead. A transfer of one-sided communication has no partner that
 * could be matched, so all that its arguments say goes into its own record. See access.h. */
#include "interpose/backend/family/access.h"

#include "interpose/backend/table/communicator.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/table/handle_table.h"
#include "interpose/backend/table/request_table.h"

/* The windows and the files of the process. */
static struct {
    struct live_table live; /* handle -> what access_call.object holds */
    uint32_t n_made;
} objects[] = {[ACCESS_WINDOW] = {.live = LIVE_TABLE_INITIALIZER}, [ACCESS_FILE] = {.live = LIVE_TABLE_INITIALIZER}};

/* Reserves the record of a call on the object, or prepares its sum; publish() must follow. */
static void reserve_access(struct access_call *access, enum access_sort sort, uintptr_t object)
{
    struct spool_access *record = NULL;
    uint32_t communicator = object ? (uint32_t)(object >> 32) : SPOOL_NO_COMMUNICATOR;
    access->sort = sort;
    access->object = object;
    unsigned off = __atomic_load_n(&recorder.off, __ATOMIC_RELAXED);
    access->summed = (off & RECORDER_SUMS) != 0;
    if (!access->summed)
        record = spool_lane_reserve(access->call.thread->lane, sizeof *record);
    access->record = record;
    if (!record)
        return;
    record->function = (uint16_t)access->call.function;
    record->communicator = communicator;
    record->object = (uint32_t)object;
    record->flags = (uint16_t)off; /* joint calls count for the numbers of those that follow */
    record->begin_ticks = access->call.begin_ticks;
    record->site = access->call.site;
    record->stack = access->call.thread->stack;
}

/* Stores the record of a reserved call; target is -1 if there is none, and so is offset. */
static void publish_access(struct access_call *access, int32_t target, uint64_t bytes, int64_t offset)
{
    access->target = target;
    access->bytes = bytes;
    if (!access->record)
        return;
    access->record->target = target;
    access->record->bytes = bytes;
    access->record->offset = offset;
    spool_record_publish(access->record, SPOOL_ACCESS);
}

/* Begins a call on the object of the handle key. */
static void begin_access(struct access_call *access, enum access_sort sort, uint64_t key, int32_t target,
                         uint64_t bytes, int64_t offset)
{
    reserve_access(access, sort, (uintptr_t)live_table_get(&objects[sort].live, key));
    publish_access(access, target >= 0 ? target : -1, bytes, offset >= 0 ? offset : -1);
}

static void end_access_record(struct access_call *access, int result)
{
    if (result != MPI_SUCCESS)
        access->record->flags |= SPOOL_FAILED;
    __atomic_store_n(&access->record->end_ticks, now_ticks(), __ATOMIC_RELEASE);
}

/* Adds the call to the totals. */
static void sum_access(const struct access_call *access, uint64_t bytes)
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

void access_end(struct access_call *access, int result)
{
    if (access->summed)
        sum_access(access, result == MPI_SUCCESS ? access->bytes : 0);
    else if (access->record)
        end_access_record(access, result);
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
        end_access_record(access, result);
}

void access_create_begin(struct access_call *access, enum access_sort sort, MPI_Comm comm)
{
    uint32_t communicator = communicator_index(access->call.thread, comm);
    if (communicator == COMMUNICATOR_NONE) {
        access->call.thread = NULL;
        return;
    }
    uint32_t number = __atomic_add_fetch(&objects[sort].n_made, 1, __ATOMIC_RELAXED);
    reserve_access(access, sort, (uintptr_t)communicator << 32 | number);
    publish_access(access, -1, 0, -1);
}

void access_create_end(struct access_call *access, int result, const void *made, size_t bytes)
{
    if (result == MPI_SUCCESS &&
        live_table_put(&objects[access->sort].live, handle_key(made, bytes), (void *)access->object) != 0)
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
    access_end(access, result);
}

void access_free_begin(struct access_call *access, enum access_sort sort, const void *freed, size_t bytes)
{
    access->handle = freed ? handle_key(freed, bytes) : 0;
    reserve_access(access, sort, (uintptr_t)live_table_take(&objects[sort].live, access->handle));
    publish_access(access, -1, 0, -1);
}

void access_free_end(struct access_call *access, int result)
{
    if (result != MPI_SUCCESS && access->object)
        live_table_put(&objects[access->sort].live, access->handle, (void *)access->object);
    access_end(access, result);
}

void rma_begin(struct access_call *rma, const struct rma_arguments *arguments)
{
    uint64_t bytes = 0;
    if (arguments->target != MPI_PROC_NULL) {
        if (arguments->op != MPI_NO_OP)
            bytes = elements_bytes(arguments->origin_count, arguments->origin_type);
        bytes = add_bytes(bytes, elements_bytes(arguments->result_count, arguments->result_type));
    }
    begin_access(rma, ACCESS_WINDOW, HANDLE_KEY(arguments->window), arguments->target, bytes, -1);
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
    begin_access(&test->access, ACCESS_WINDOW, HANDLE_KEY(test->window), -1, 0, -1);
    access_end(&test->access, result);
}

void file_begin(struct access_call *file, const struct file_arguments *arguments)
{
    begin_access(file, ACCESS_FILE, HANDLE_KEY(arguments->file), -1,
                 elements_bytes(arguments->count, arguments->datatype), arguments->offset);
}
