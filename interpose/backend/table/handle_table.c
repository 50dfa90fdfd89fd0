/* Adds new keys, and segments where one is half full; the rest is so short that it is inline. See handle_table.h. */
#include "interpose/backend/table/handle_table.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 1024U

static struct handle_segment *new_segment(uint64_t slots, struct handle_segment *older)
{
    int saved_errno = errno;
    struct handle_segment *segment = calloc(1, sizeof *segment + slots * sizeof *segment->slots);
    errno = saved_errno;
    if (segment) {
        segment->mask = slots - 1;
        segment->older = older;
    }
    return segment;
}

int handle_table_init(struct handle_table *table)
{
    if (!table->newest)
        table->newest = new_segment(FIRST_SLOTS, NULL);
    return table->newest ? 0 : -1;
}

/* Returns the slot of the handle in the segment, where it has room for a new key; NULL if it is half full. */
static struct handle_slot *insert(struct handle_segment *segment, uint64_t handle)
{
    uint64_t hash = handle * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    if (__atomic_fetch_add(&segment->used, 1, __ATOMIC_RELAXED) > segment->mask / 2) {
        __atomic_fetch_sub(&segment->used, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    for (uint64_t i = hash;; i++) {
        struct handle_slot *slot = &segment->slots[i & segment->mask];
        uint64_t key = 0;
        if (__atomic_compare_exchange_n(&slot->key, &key, ~handle, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return slot;
        if (key == ~handle) { /* another thread was first */
            __atomic_fetch_sub(&segment->used, 1, __ATOMIC_RELAXED);
            return slot;
        }
    }
}

struct handle_slot *handle_table_add(struct handle_table *table, uint64_t handle)
{
    for (;;) {
        struct handle_segment *newest = __atomic_load_n(&table->newest, __ATOMIC_ACQUIRE);
        struct handle_slot *slot = handle_segment_find(newest, handle);
        if (!slot)
            slot = insert(newest, handle);
        if (slot)
            return slot;
        struct handle_segment *wider = new_segment((newest->mask + 1) * 2, newest);
        if (!wider)
            return NULL;
        if (!__atomic_compare_exchange_n(&table->newest, &newest, wider, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            free(wider);
    }
}

struct handle_slot *handle_table_next(const struct handle_table *table, const struct handle_slot *slot, uint64_t handle)
{
    struct handle_segment *segment = __atomic_load_n(&table->newest, __ATOMIC_ACQUIRE);
    for (; segment; segment = segment->older)
        if (slot >= segment->slots && slot <= segment->slots + segment->mask)
            return handle_segment_find(segment->older, handle);
    return NULL;
}
