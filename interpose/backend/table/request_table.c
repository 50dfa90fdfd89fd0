/* Changes the values of slots. Several threads may complete, free and post under one handle at once, so each change is
 * one exchange of a pointer with tags. See request_table.h. */
#include "interpose/backend/table/request_table.h"

#include "interpose/backend/table/pending.h"
#include "interpose/backend/table/persistent_request.h"
#include "interpose/backend/table/shared_queue.h"

struct handle_table request_table;
static uint32_t free_numbers = (1U << SHARED_HANDLES) - 1; /* numbers of shared handles: one bit each */
static uint8_t
    queued[SHARED_HANDLES]; /* the two operations by which the handle was known to be shared are in its queue */

int request_table_init(void)
{
    return handle_table_init(&request_table);
}

static void *shared_value(unsigned number)
{
    return (void *)(((uintptr_t)number << 2) | REQUEST_SHARED);
}

static inline int is_shared(const void *value)
{
    return ((uintptr_t)value & REQUEST_TAGS) == REQUEST_SHARED;
}

static inline unsigned shared_number(const void *value)
{
    return (unsigned)((uintptr_t)value >> 2);
}

/* Sets slot->value to `wanted` if it is *there. Returns whether it did; if not, *there becomes its value. */
static inline int replace(struct handle_slot *slot, void **there, void *wanted)
{
    if (recorder.multiple)
        return __atomic_compare_exchange_n(&slot->value, there, wanted, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (slot->value != *there) {
        *there = slot->value;
        return 0;
    }
    slot->value = wanted;
    return 1;
}

static void lose(void)
{
    spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
}

static void put(struct recorder_thread *thread, unsigned number, void *pending)
{
    if (shared_queue_put(thread, number, pending) != 0)
        lose();
}

static int request_is_complete(uint64_t handle)
{
    MPI_Request request;
    int complete = 1;
    memcpy(&request, &handle, sizeof request);
    if (PMPI(Request_get_status)(request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return 1;
    return complete;
}

/* Takes a number for one more shared handle; returns SHARED_HANDLES if there is none. A caller that does not need it
 * after all gives it back. */
static unsigned take_number(void)
{
    uint32_t numbers = __atomic_load_n(&free_numbers, __ATOMIC_RELAXED);
    while (numbers != 0 && !__atomic_compare_exchange_n(&free_numbers, &numbers, numbers & (numbers - 1), 0,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return numbers != 0 ? (unsigned)__builtin_ctz(numbers) : SHARED_HANDLES;
}

static void give_number_back(unsigned number)
{
    if (number < SHARED_HANDLES)
        __atomic_fetch_or(&free_numbers, 1U << number, __ATOMIC_RELAXED);
}

/* Abandons the older one, which was not seen to end. */
static void abandon(struct recorder_thread *thread, void *value)
{
    struct persistent *persistent = request_value_persistent(value);
    if (persistent)
        persistent_free(persistent, thread);
    else
        pending_abandon(value, thread, 0);
}

/* Adds where the slot is not empty and the handle not known to be shared. is_live says that the older one is a live
 * request, too. */
static __attribute__((noinline)) void add_again(struct recorder_thread *thread, struct handle_slot *slot,
                                                uint64_t handle, void *pending, int is_live)
{
    void *there = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
    int can_share = is_live || (!request_value_persistent(pending) && request_is_complete(handle));
    unsigned number = SHARED_HANDLES;
    for (;;) {
        if (is_shared(there) && !request_value_persistent(pending)) {
            give_number_back(number);
            put(thread, shared_number(there), pending);
            return;
        }
        if (can_share && there && !request_value_persistent(there) && number == SHARED_HANDLES)
            number = take_number();
        if (there && !request_value_persistent(there) && number < SHARED_HANDLES) {
            if (!replace(slot, &there, shared_value(number)))
                continue;
            put(thread, number, is_live ? pending : there);
            put(thread, number, is_live ? there : pending);
            __atomic_store_n(&queued[number], 1, __ATOMIC_RELEASE);
            return;
        }
        if (replace(slot, &there, pending)) {
            give_number_back(number);
            if (there && !is_shared(there))
                abandon(thread, there);
            return;
        }
    }
}

static inline void add(struct recorder_thread *thread, uint64_t handle, void *value)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    void *there = NULL;
    if (__builtin_expect(!slot, 0) && !(slot = handle_table_add(&request_table, handle)))
        lose();
    else if (replace(slot, &there, value))
        return;
    else if (is_shared(there) && !request_value_persistent(value))
        put(thread, shared_number(there), value);
    else
        add_again(thread, slot, handle, value, 0);
}

void request_table_insert(struct recorder_thread *thread, uint64_t handle, void *pending)
{
    add(thread, handle, pending);
}

void *request_table_take_before(uint64_t handle)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    for (; slot; slot = handle_table_next(&request_table, slot, handle)) {
        void *value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
        while (value && !((uintptr_t)value & REQUEST_TAGS))
            if (__atomic_compare_exchange_n(&slot->value, &value, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                break;
        if (value)
            return value;
    }
    return NULL;
}

void request_table_put_back(struct recorder_thread *thread, uint64_t handle, void *value)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    void *there = NULL;
    if (!slot || ((uintptr_t)value & REQUEST_TAGS))
        return;
    if (!__atomic_compare_exchange_n(&slot->value, &there, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        add_again(thread, slot, handle, value, 1);
}

void *request_table_claim(struct recorder_thread *thread, void *value)
{
    struct persistent *persistent = request_value_persistent(value);
    if (is_shared(value)) {
        /* This happens once for each shared handle: the thread that finds out takes the older operation from here into
         * its queue, and that operation's own thread may be here before it is done. */
        while (!__atomic_load_n(&queued[shared_number(value)], __ATOMIC_ACQUIRE))
            sched_yield();
        return shared_queue_take(thread, shared_number(value));
    }
    if (!persistent)
        return value;
    void *active = persistent->active;
    persistent->active = NULL;
    return active;
}

/* Returns the value of the handle, which stays in. */
static void *look_up(uint64_t handle)
{
    void *value = NULL;
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    for (; slot && !value; slot = handle_table_next(&request_table, slot, handle))
        value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
    return value;
}

void *request_table_peek(struct recorder_thread *thread, uint64_t handle)
{
    void *value = look_up(handle);
    struct persistent *persistent = request_value_persistent(value);
    if (is_shared(value))
        return recorder.multiple ? NULL : shared_queue_peek(thread, shared_number(value));
    return persistent ? persistent->active : value;
}

void request_table_add_persistent(struct recorder_thread *thread, uint64_t handle, struct persistent *persistent)
{
    add(thread, handle, (void *)((uintptr_t)persistent | REQUEST_PERSISTENT));
}

struct persistent *request_table_persistent(uint64_t handle)
{
    return request_value_persistent(look_up(handle));
}

struct persistent *request_table_take_persistent(uint64_t handle)
{
    struct handle_slot *slot = handle_table_find(&request_table, handle);
    for (; slot; slot = handle_table_next(&request_table, slot, handle)) {
        void *value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
        if (request_value_persistent(value)) {
            __atomic_store_n(&slot->value, NULL, __ATOMIC_RELEASE);
            return request_value_persistent(value);
        }
    }
    return NULL;
}
