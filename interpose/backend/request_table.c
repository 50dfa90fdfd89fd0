/* Open addressing with linear probing: a slot a handle, with its oldest operation in place and the others, which
 * only shared handles have, in a list. See request_table.h. */
#include "request_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "pending.h"
#include "recorder.h"

#define FIRST_SLOTS  1024U
#define KNOWN_SHARED 8

struct waiter {
    void *pending;
    struct waiter *next;
};

struct slot {
    uint64_t handle;
    void *oldest;               /* NULL: the slot is free */
    struct waiter *rest, *last; /* behind the oldest */
};

static struct {
    struct slot *slots;
    uint64_t mask;
    uint64_t used;
    struct waiter *spare;
    uint64_t shared[KNOWN_SHARED]; /* handles that MPI gives to many requests */
    unsigned n_shared;
    int locked;
    pthread_mutex_t lock;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void lock_table(void)
{
    if (table.locked)
        pthread_mutex_lock(&table.lock);
}

static inline void unlock_table(void)
{
    if (table.locked)
        pthread_mutex_unlock(&table.lock);
}

static inline uint64_t home(uint64_t handle)
{
    uint64_t mixed = handle * UINT64_C(0x9e3779b97f4a7c15);
    return (mixed ^ (mixed >> 32)) & table.mask;
}

/* The slot of the handle, or the free one where it belongs. */
static inline struct slot *find(uint64_t handle)
{
    uint64_t i = home(handle);
    while (table.slots[i].oldest && table.slots[i].handle != handle)
        i = (i + 1) & table.mask;
    return &table.slots[i];
}

int request_table_init(int locked)
{
    table.locked = locked;
    if (!table.slots) {
        table.slots = calloc(FIRST_SLOTS, sizeof *table.slots);
        table.mask = FIRST_SLOTS - 1;
    }
    return table.slots ? 0 : -1;
}

/* Doubles the table when it is half full. Returns -1 where there is no memory and no free slot to spare. */
static int make_room(void)
{
    if (table.used * 2 <= table.mask)
        return 0;
    int saved_errno = errno;
    uint64_t old_slots = table.mask + 1;
    struct slot *old = table.slots;
    struct slot *wider = calloc(old_slots * 2, sizeof *wider);
    errno = saved_errno;
    if (!wider)
        return table.used + 1 < old_slots ? 0 : -1;
    table.slots = wider;
    table.mask = old_slots * 2 - 1;
    for (uint64_t i = 0; i < old_slots; i++)
        if (old[i].oldest)
            *find(old[i].handle) = old[i];
    free(old);
    return 0;
}

/* Empties a slot and moves those behind it up, so that probing never meets a gap. */
static void remove_slot(struct slot *slot)
{
    uint64_t gap = (uint64_t)(slot - table.slots);
    table.used--;
    for (uint64_t i = (gap + 1) & table.mask; table.slots[i].oldest; i = (i + 1) & table.mask) {
        uint64_t distance = (i - home(table.slots[i].handle)) & table.mask;
        if (distance >= ((i - gap) & table.mask)) {
            table.slots[gap] = table.slots[i];
            gap = i;
        }
    }
    table.slots[gap] = (struct slot){0, NULL, NULL, NULL};
}

static struct waiter *new_waiter(void *pending)
{
    struct waiter *waiter = table.spare;
    if (waiter) {
        table.spare = waiter->next;
    } else {
        int saved_errno = errno;
        waiter = malloc(sizeof *waiter);
        errno = saved_errno;
        if (!waiter) {
            spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
            return NULL;
        }
    }
    *waiter = (struct waiter){pending, NULL};
    return waiter;
}

static int is_known_shared(uint64_t handle)
{
    for (unsigned i = 0; i < table.n_shared; i++)
        if (table.shared[i] == handle)
            return 1;
    return 0;
}

static void flag_shared(void *pending)
{
    pending_flag(pending, SPOOL_SHARED_HANDLE);
}

/* Queues an operation behind others of its handle. */
static void add_again(struct slot *slot, void *pending)
{
    struct waiter *waiter = new_waiter(pending);
    if (!waiter)
        return;
    flag_shared(pending);
    flag_shared(slot->oldest);
    if (slot->rest)
        slot->last->next = waiter;
    else
        slot->rest = waiter;
    slot->last = waiter;
}

void request_table_add(uint64_t handle, void *pending, int (*is_complete)(uint64_t handle))
{
    lock_table();
    struct slot *slot = find(handle);
    if (slot->oldest && is_complete && !is_known_shared(handle)) {
        unlock_table();
        int complete = is_complete(handle);
        lock_table();
        slot = find(handle);
        if (complete && table.n_shared < KNOWN_SHARED && !is_known_shared(handle))
            table.shared[table.n_shared++] = handle;
        while (!complete && slot->oldest) {
            unlock_table();
            void *unseen = request_table_take(handle);
            if (unseen)
                pending_abandon(unseen, recorder_thread, 0);
            lock_table();
            slot = find(handle);
        }
    }
    if (slot->oldest) {
        add_again(slot, pending);
    } else if (make_room() == 0) {
        *find(handle) = (struct slot){handle, pending, NULL, NULL};
        table.used++;
    } else {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
    }
    unlock_table();
}

void *request_table_take(uint64_t handle)
{
    lock_table();
    struct slot *slot = find(handle);
    void *pending = slot->oldest;
    if (pending && slot->rest) {
        struct waiter *waiter = slot->rest;
        slot->oldest = waiter->pending;
        slot->rest = waiter->next;
        waiter->next = table.spare;
        table.spare = waiter;
    } else if (pending) {
        remove_slot(slot);
    }
    unlock_table();
    return pending;
}

void request_table_put_back(uint64_t handle, void *pending)
{
    lock_table();
    struct slot *slot = find(handle);
    if (slot->oldest) {
        struct waiter *waiter = new_waiter(slot->oldest);
        if (waiter) {
            flag_shared(pending);
            flag_shared(slot->oldest);
            waiter->next = slot->rest;
            if (!slot->rest)
                slot->last = waiter;
            slot->rest = waiter;
            slot->oldest = pending;
        }
    } else if (make_room() == 0) {
        *find(handle) = (struct slot){handle, pending, NULL, NULL};
        table.used++;
    } else {
        spool_writer_lose(&recorder.spool, SPOOL_LOSS_MEMORY, 1);
    }
    unlock_table();
}
