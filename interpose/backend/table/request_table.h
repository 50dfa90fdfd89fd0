/* Finds what a request handle stands for (see pending.h).
 *
 * A handle has a slot in a handle table, and its value is one of
 *     what was posted under it        the handle is that request's alone
 *     a persistent request            until that is freed; what its start posted is in there
 *     the number of a shared handle   one that MPI gives to many requests: what was posted is in a queue
 * A handle is known to be shared when it comes back while what was posted under it is still here, and MPI says that it
 * is complete. If it is not complete, then the older request went by unseen, and is dropped.
 *
 * Nothing here takes a lock. Under MPI_THREAD_MULTIPLE another thread may be given a freed handle at once. So a
 * completion call takes what has its handle alone out before it calls MPI, and puts back what was not completed.
 * Otherwise it takes out afterwards, with plain loads and stores. It takes from shared handles afterwards in any case:
 * they are never freed. */
#ifndef MPISTAIR_BACKEND_REQUEST_TABLE_H
#define MPISTAIR_BACKEND_REQUEST_TABLE_H

#include "interpose/backend/recorder/state.h"
#include "interpose/backend/table/handle_table.h"

struct persistent;

#define SHARED_HANDLES 16U /* how many a process can tell apart */

/* Ends a thread: its queues may go to another. */
void shared_queue_release(struct recorder_thread *thread);

/* Tags the value of a slot, a pointer, in its lowest bits; NULL means that nothing is known of the handle. */
enum request_tag { REQUEST_SHARED = 1, REQUEST_PERSISTENT = 2, REQUEST_TAGS = 3 };

/* Sets up the empty table. Returns 0, or -1 (no memory). */
int request_table_init(void);

extern struct handle_table request_table;

/* Adds what was posted under the handle; request_table_insert serves a handle that is new, a slot that is not empty,
 * and several threads. */
void request_table_insert(struct recorder_thread *thread, uint64_t handle, void *pending);
static inline void request_table_add(struct recorder_thread *thread, uint64_t handle, void *pending)
{
    struct handle_slot *slot = handle_table_glance(&request_table, handle);
    if (slot && !recorder.multiple && !slot->value)
        slot->value = pending;
    else
        request_table_insert(thread, handle, pending);
}

/* Returns before a completion call, under MPI_THREAD_MULTIPLE, what the handle stands for. What has the handle alone is
 * taken out, and must be put back or claimed; the rest is left in. */
void *request_table_take_before(uint64_t handle);

/* Puts back what request_table_take_before gave. */
void request_table_put_back(struct recorder_thread *thread, uint64_t handle, void *value);

/* Takes out, after a call that reported the request, what was posted under the handle, or by the last start of the
 * persistent request. Returns NULL if nothing is known of it, or it was inactive. value is what
 * request_table_take_before gave. */
void *request_table_claim(struct recorder_thread *thread, void *value);
/* Does the same without request_table_take_before, for one thread at a time. */
static inline void *request_table_take(struct recorder_thread *thread, uint64_t handle)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    void *value = slot ? slot->value : NULL;
    if ((uintptr_t)value & REQUEST_TAGS)
        return request_table_claim(thread, value);
    if (value)
        slot->value = NULL;
    return value;
}

/* Returns what request_table_take would give, and leaves it in; NULL also for shared handles under MPI_THREAD_MULTIPLE.
 */
void *request_table_peek(struct recorder_thread *thread, uint64_t handle);

/* Add and find persistent requests (NULL: it is none), and take them out (by request_table_take_persistent, or by the
 * value that request_table_take_before gave). */
void request_table_add_persistent(struct recorder_thread *thread, uint64_t handle, struct persistent *persistent);
struct persistent *request_table_persistent(uint64_t handle);
struct persistent *request_table_take_persistent(uint64_t handle);

static inline struct persistent *request_value_persistent(void *value)
{
    uintptr_t bits = (uintptr_t)value;
    return (bits & REQUEST_TAGS) == REQUEST_PERSISTENT ? (struct persistent *)(bits & ~(uintptr_t)REQUEST_TAGS) : NULL;
}

#endif
