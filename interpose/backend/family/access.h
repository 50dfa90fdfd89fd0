/* Families win_create, win_free, rma, win_test, rma_request (one-sided communication) and file_open, file_close, file,
 * file_all, file_request, file_request_all: calls on an object that was made from a communicator, each recorded as one
 * timed call with its bytes.
 *
 * A window or file is numbered in this process among those of its sort. A table of its sort knows number and
 * communicator of each live handle. */
#ifndef MPISTAIR_BACKEND_ACCESS_H
#define MPISTAIR_BACKEND_ACCESS_H

#include <mpi.h>

#include "interpose/backend/call/timed_call.h"
#include "interpose/backend/table/datatype.h"
#include "interpose/backend/table/handle_table.h"

enum access_sort { ACCESS_WINDOW = 0, ACCESS_FILE = 1 };

struct access_call {
    struct recorded_call call;
    struct spool_access *record; /* NULL: lost, not recorded, or summed */
    int summed;                  /* added to the totals, with target and bytes, when it ends */
    int32_t target;
    uint64_t bytes;
    uintptr_t object; /* number in the lower half, communicator in the upper one; 0: not known */
    uint64_t handle;  /* its key, where the call frees it */
    enum access_sort sort;
};

/* The windows and the files of the process. */
extern struct access_objects {
    struct live_table live; /* handle -> what access_call.object holds */
    uint32_t n_made;
} access_objects[];

static inline uintptr_t access_object(enum access_sort sort, uint64_t key)
{
    return (uintptr_t)live_table_get(&access_objects[sort].live, key);
}

/* Stores the record of a call on the object; the target is negative if there is none, and so is the offset. */
IN_WRAPPER void access_begin(struct access_call *access, enum access_sort sort, uintptr_t object, int32_t target,
                             uint64_t bytes, int64_t offset)
{
    unsigned off = __atomic_load_n(&recorder.off, __ATOMIC_RELAXED);
    struct spool_access *record = NULL;
    access->sort = sort;
    access->object = object;
    access->target = target;
    access->bytes = bytes;
    access->summed = (off & RECORDER_SUMS) != 0;
    if (!access->summed)
        record = spool_lane_reserve(access->call.thread->lane, sizeof *record);
    access->record = record;
    if (!record)
        return;
    record->function = (uint16_t)access->call.function;
    record->communicator = object ? (uint32_t)(object >> 32) : SPOOL_NO_COMMUNICATOR;
    record->object = (uint32_t)object;
    record->target = target >= 0 ? target : -1;
    record->flags = (uint16_t)off; /* joint calls count for the numbers of those that follow */
    record->bytes = bytes;
    record->begin_ticks = access->call.begin_ticks;
    record->site = access->call.site;
    record->stack = access->call.thread->stack;
    record->offset = offset >= 0 ? offset : -1;
    spool_record_publish(record, SPOOL_ACCESS);
}

/* Adds a call that has no record to the totals. */
void access_sum(const struct access_call *access, uint64_t bytes);

/* End a call, and with it what it stands for; or the call only: what it stands for ends with its request. */
static inline void access_end(struct access_call *access, int result)
{
    if (!access->record) {
        if (access->summed)
            access_sum(access, result == MPI_SUCCESS ? access->bytes : 0);
        return;
    }
    if (result != MPI_SUCCESS)
        access->record->flags |= SPOOL_FAILED;
    __atomic_store_n(&access->record->end_ticks, now_ticks(), __ATOMIC_RELEASE);
}
void access_request_end(struct access_call *access, int result, const MPI_Request *request);

/* Record a call that makes an object of a sort, whose handle has so many bytes. */
void access_create_begin(struct access_call *access, enum access_sort sort, MPI_Comm comm);
void access_create_end(struct access_call *access, int result, const void *made, size_t bytes);

/* Record the call that frees an object. The handle is forgotten before the call, since another thread may be given it
 * at once; it is known again where the call fails. */
void access_free_begin(struct access_call *access, enum access_sort sort, const void *freed, size_t bytes);
void access_free_end(struct access_call *access, int result);

struct rma_arguments {
    MPI_Win window;
    int target; /* MPI_PROC_NULL: none, or the call has none */
    int64_t origin_count, result_count;
    MPI_Datatype origin_type, result_type;
    MPI_Op op; /* MPI_NO_OP: the origin buffer is not read */
};

/* Bytes that a call moves; 0 for calls of synchronisation. */
IN_WRAPPER uint64_t rma_bytes(const struct rma_arguments *arguments)
{
    uint64_t bytes = 0;
    if (arguments->target != MPI_PROC_NULL) {
        if (arguments->op != MPI_NO_OP)
            bytes = elements_bytes(arguments->origin_count, arguments->origin_type);
        bytes = add_bytes(bytes, elements_bytes(arguments->result_count, arguments->result_type));
    }
    return bytes;
}

/* A transfer of one-sided communication ends with a synchronisation and not with its own call, so only the call is
 * timed. Transfers that return a request end with it. */
IN_WRAPPER void rma_begin(struct access_call *rma, const struct rma_arguments *arguments)
{
    access_begin(rma, ACCESS_WINDOW, access_object(ACCESS_WINDOW, HANDLE_KEY(arguments->window)), arguments->target,
                 rma_bytes(arguments), -1);
}

/* Unsuccessful calls of MPI_Win_test are summed. */
struct win_test_call {
    struct access_call access;
    MPI_Win window;
};
void win_test_begin(struct win_test_call *test, const struct rma_arguments *arguments);
void win_test_end(struct win_test_call *test, int result, const int *flag);

struct file_arguments {
    MPI_File file;
    int64_t offset; /* -1: the call has none */
    int64_t count;
    MPI_Datatype datatype;
};

/* Families with _all are collective over the communicator that opened the file. The two halves of a split collective
 * are a call each; the first has the bytes. What a call moves is known from its arguments: a read at the end of a
 * file may give less. */
void file_begin(struct access_call *file, const struct file_arguments *arguments);

#endif
