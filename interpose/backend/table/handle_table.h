/* Finds what the recorder knows about a handle of MPI, without a lock.
 *
 * The table uses open addressing in segments, each with twice the slots of the one before. A slot's key, once set by
 * compare and swap, stays for good: handles come out of the MPI's pools, so their number is bounded by the most that
 * ever lived at once. What changes is the slot's value, which the owner of a table sets, exchanges and clears by atomic
 * operations (plain ones while only one thread at a time calls MPI). A new key goes into the newest segment, and a
 * newer one is made where that is half full. Two threads that meet one handle for the first time while a segment fills
 * up may each give it a slot; whoever finds nothing in the first looks on in the next (handle_table_next). */
#ifndef MPISTAIR_BACKEND_HANDLE_TABLE_H
#define MPISTAIR_BACKEND_HANDLE_TABLE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct handle_slot {
    uint64_t key; /* complement of the handle; 0: free */
    void *value;
};

struct handle_segment {
    struct handle_segment *older;
    uint64_t mask; /* slots - 1 */
    uint64_t used; /* how many keys were promised a slot */
    struct handle_slot slots[];
};

struct handle_table {
    struct handle_segment *newest;
};

/* Makes the first segment, if there is none. Returns 0, or -1 (no memory). */
int handle_table_init(struct handle_table *table);

/* Returns the slot of a handle, with value NULL where it is new; NULL without memory. */
struct handle_slot *handle_table_add(struct handle_table *table, uint64_t handle);

/* The slots of a segment are looked at from this number on, modulo their number. */
static inline uint64_t handle_hash(uint64_t handle)
{
    return handle * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* Returns the slot of the handle in this segment or an older one; NULL if there is none. */
static inline struct handle_slot *handle_segment_find(struct handle_segment *segment, uint64_t handle)
{
    for (uint64_t hash = handle_hash(handle); segment; segment = segment->older) {
        uint64_t key;
        for (uint64_t i = hash; (key = __atomic_load_n(&segment->slots[i & segment->mask].key, __ATOMIC_RELAXED)) != 0;
             i++)
            if (key == ~handle)
                return &segment->slots[i & segment->mask];
    }
    return NULL;
}

static inline struct handle_slot *handle_table_find(const struct handle_table *table, uint64_t handle)
{
    return handle_segment_find(__atomic_load_n(&table->newest, __ATOMIC_ACQUIRE), handle);
}

/* Returns the slot where the handle is mostly found at once; NULL if it may be elsewhere. */
static inline struct handle_slot *handle_table_glance(const struct handle_table *table, uint64_t handle)
{
    struct handle_segment *newest = __atomic_load_n(&table->newest, __ATOMIC_ACQUIRE);
    struct handle_slot *slot = &newest->slots[handle_hash(handle) & newest->mask];
    return __builtin_expect(__atomic_load_n(&slot->key, __ATOMIC_RELAXED) == ~handle, 1) ? slot : NULL;
}

/* Returns another slot of the handle than this one, in an older segment; NULL if there is none, as nearly always. */
struct handle_slot *handle_table_next(const struct handle_table *table, const struct handle_slot *slot,
                                      uint64_t handle);

/* What live handles of one kind (messages, windows) stand for: a number that is not 0, or a pointer. Looking up,
 * adding and taking out need no lock. Only where a handle stands for several things at once, as MPI_MESSAGE_NO_PROC
 * does, those after the first wait in a list under a lock, first in, first out. */
struct live_handle {
    uint64_t key;
    void *value;
};

struct live_table {
    struct handle_table first;
    struct live_handle *more; /* values of handles that had a value already */
    size_t n_more, room;
    pthread_mutex_t lock; /* guards more */
};

#define LIVE_TABLE_INITIALIZER                                                                                         \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                              \
    }

/* Adds a value (not NULL) of the handle. Returns 0, or -1 (no memory). */
int live_table_put(struct live_table *table, uint64_t key, void *value);

/* Return a value of the handle, which stays or is taken out; NULL if there is none. */
void *live_table_get_any(struct live_table *table, uint64_t key);
static inline void *live_table_get(struct live_table *table, uint64_t key)
{
    const struct handle_slot *slot =
        __atomic_load_n(&table->first.newest, __ATOMIC_RELAXED) ? handle_table_glance(&table->first, key) : NULL;
    void *value = slot ? __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE) : NULL;
    return __builtin_expect(value != NULL, 1) ? value : live_table_get_any(table, key);
}
void *live_table_take(struct live_table *table, uint64_t key);

#endif
