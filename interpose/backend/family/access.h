/* Holds what the families of windows (rma.h) and files (file.h) share: a call on an object that was made from a
 * communicator, recorded as one timed call.
 *
 * An object is numbered in this process among those of its sort. A table of its sort knows number and communicator of
 * each live handle. */
#ifndef MPISTAIR_BACKEND_ACCESS_H
#define MPISTAIR_BACKEND_ACCESS_H

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/call/sum.h"
#include "interpose/backend/table/live_table.h"

/* Holds the windows, or the files, of the process. */
struct object_sort {
    struct live_table live; /* handle -> what access_call.object holds */
    uint32_t n_made;
    enum access_sort { ACCESS_WINDOW = 0, ACCESS_FILE = 1, ACCESS_SORTS = 2 } sort;
};

struct access_call {
    struct recorded_call call;
    struct spool_access *record; /* NULL: lost, not recorded, or summed */
    int summed;                  /* added to a sum, with key and bytes, when it ends */
    struct sum_key key;
    uint64_t bytes;
    uintptr_t object; /* number in the lower half, communicator in the upper one; 0: not known */
    uint64_t handle;  /* its key, where the call frees it */
};

/* Reserves the record of a call that was begun, on the object of the handle key; access_publish must follow. */
void access_reserve(struct access_call *access, struct object_sort *objects, uint64_t key);

/* Begins a call on the object of the handle key. Returns whether it is recorded; then access_publish must follow. */
int access_begin(struct access_call *access, struct object_sort *objects, enum mpistair_function function,
                 uint64_t site, uint64_t key);

/* Stores the record of a begun call; target is -1 if there is none, and so is offset. */
void access_publish(struct access_call *access, int32_t target, uint64_t bytes, int64_t offset);

/* Ends the call, and with it what it stands for. */
void access_end(struct access_call *access, int result);

/* Ends the call only: what it stands for ends with its request. */
void access_request_end(struct access_call *access, int result, const MPI_Request *request);

/* Record the call that makes an object. key: of the new handle, read if result is MPI_SUCCESS. */
void access_create_begin(struct access_call *access, struct object_sort *objects, enum mpistair_function function,
                         uint64_t site, MPI_Comm comm);
void access_create_end(struct access_call *access, struct object_sort *objects, int result, uint64_t key);

/* Record the call that frees an object. The handle is forgotten before the call, since another thread may be given it
 * at once; it is known again where the call fails. */
void access_free_begin(struct access_call *access, struct object_sort *objects, enum mpistair_function function,
                       uint64_t site, uint64_t key);
void access_free_end(struct access_call *access, struct object_sort *objects, int result);

#endif
