/* The record is stored before MPI is called, so that a process that is killed in the call leaves it behind. Calls
 * beyond MPISTAIR_DETAIL are added to sums instead. See access.h. */
#include "interpose/backend/family/access.h"

#include "interpose/backend/family/operation.h"

/* Reserves the record of a call on the object, or prepares its sum; the caller publishes it. */
static void reserve(struct access_call *access, enum access_sort sort)
{
    struct spool_access *record = NULL;
    uint32_t communicator = access->object ? (uint32_t)(access->object >> 32) : SPOOL_NO_COMMUNICATOR;
    access->summed =
        __atomic_load_n(&recorder.off, __ATOMIC_RELAXED) || access->call.thread->n_accesses[sort]++ >= recorder.detail;
    if (access->summed) {
        access->key = sum_key_of(&access->call);
        access->key.communicator = communicator;
        access->bytes = 0;
    } else {
        record = spool_lane_reserve(access->call.thread->lane, sizeof *record);
    }
    access->record = record;
    if (!record)
        return;
    record->function = (uint16_t)access->call.function;
    record->communicator = communicator;
    record->object = (uint32_t)access->object;
    record->begin_ticks = access->call.begin_ticks;
    record->site = access->call.site;
    record->stack = access->call.thread->stack;
}

/* Begins a call of which nothing is reserved yet. Returns whether it is recorded. */
static int begin(struct access_call *access, enum mpistair_function function, uint64_t site)
{
    access->record = NULL;
    access->summed = 0;
    access->object = 0;
    return call_begin(&access->call, function, site);
}

void access_reserve(struct access_call *access, struct object_sort *objects, uint64_t key)
{
    access->object = (uintptr_t)live_table_get(&objects->live, key);
    reserve(access, objects->sort);
}

int access_begin(struct access_call *access, struct object_sort *objects, enum mpistair_function function,
                 uint64_t site, uint64_t key)
{
    if (!begin(access, function, site))
        return 0;
    access_reserve(access, objects, key);
    return 1;
}

void access_publish(struct access_call *access, int32_t target, uint64_t bytes, int64_t offset)
{
    if (access->summed) {
        access->key.target = target;
        access->bytes = bytes;
    }
    if (!access->record)
        return;
    access->record->target = target;
    access->record->bytes = bytes;
    access->record->offset = offset;
    spool_record_publish(access->record, SPOOL_ACCESS);
}

static void end_record(struct access_call *access, int result)
{
    if (result != MPI_SUCCESS)
        access->record->flags |= SPOOL_FAILED;
    __atomic_store_n(&access->record->end_ticks, clock_ticks(recorder.clock_source), __ATOMIC_RELEASE);
}

void access_end(struct access_call *access, int result)
{
    if (!(access->record || access->summed) || !call_recorded(&access->call))
        return;
    if (access->summed)
        sum_add(&access->call, &access->key, result == MPI_SUCCESS ? access->bytes : 0,
                clock_ticks(recorder.clock_source));
    else
        end_record(access, result);
}

void access_request_end(struct access_call *access, int result, const MPI_Request *request)
{
    if (access->summed)
        access_end(access, result);
    if (!access->record || !call_recorded(&access->call))
        return;
    access->record->flags |= SPOOL_NONBLOCKING;
    access->record->call_ticks = saturate_ticks(clock_ticks(recorder.clock_source) - access->call.begin_ticks);
    if (result == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        request_table_add(access->call.thread, HANDLE_KEY(*request), access->record);
    else
        end_record(access, result);
}

void access_create_begin(struct access_call *access, struct object_sort *objects, enum mpistair_function function,
                         uint64_t site, MPI_Comm comm)
{
    if (!begin(access, function, site))
        return;
    uint32_t communicator = communicator_index(access->call.thread, comm);
    if (communicator == COMMUNICATOR_NONE) {
        access->call.thread = NULL;
        return;
    }
    uint32_t number = __atomic_add_fetch(&objects->n_made, 1, __ATOMIC_RELAXED);
    access->object = (uintptr_t)communicator << 32 | number;
    reserve(access, objects->sort);
    access_publish(access, -1, 0, -1);
}

void access_create_end(struct access_call *access, struct object_sort *objects, int result, uint64_t key)
{
    if (!call_recorded(&access->call))
        return;
    if (result == MPI_SUCCESS && live_table_put(&objects->live, key, (void *)access->object) != 0)
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
    access_end(access, result);
}

void access_free_begin(struct access_call *access, struct object_sort *objects, enum mpistair_function function,
                       uint64_t site, uint64_t key)
{
    if (!begin(access, function, site))
        return;
    access->handle = key;
    access->object = (uintptr_t)live_table_take(&objects->live, key);
    reserve(access, objects->sort);
    access_publish(access, -1, 0, -1);
}

void access_free_end(struct access_call *access, struct object_sort *objects, int result)
{
    if (!call_recorded(&access->call))
        return;
    if (result != MPI_SUCCESS && access->object)
        live_table_put(&objects->live, access->handle, (void *)access->object);
    access_end(access, result);
}
