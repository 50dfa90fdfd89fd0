/* Adds new keys, and segments where one is half full. Messages and windows are rare enough for a table each that may
 * hold several things under one handle. See handle_table.h. */
#include "interpose/backend/table/handle_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/backend/recorder/state.h"

#define FIRST_SLOTS 1024U

static struct handle_segment *new_segment(uint64_t slots, struct handle_segment *older)
{
    struct handle_segment *segment = recorder_allocate(sizeof *segment + slots * sizeof *segment->slots);
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
    if (__atomic_fetch_add(&segment->used, 1, __ATOMIC_RELAXED) > segment->mask / 2) {
        __atomic_fetch_sub(&segment->used, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    for (uint64_t i = handle_hash(handle);; i++) {
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

/* Makes the table's first segment, unless it has one. Returns 0 or -1. */
static int make_first_segment(struct live_table *table)
{
    struct handle_table made = {NULL};
    struct handle_segment *none = NULL;
    if (__atomic_load_n(&table->first.newest, __ATOMIC_ACQUIRE))
        return 0;
    if (handle_table_init(&made) != 0)
        return -1;
    if (!__atomic_compare_exchange_n(&table->first.newest, &none, made.newest, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        free(made.newest); /* another thread was first */
    return 0;
}

/* Adds to the list. Returns 0 or -1. */
static int put_behind(struct live_table *table, uint64_t key, void *value)
{
    int saved_errno = errno, result = 0;
    pthread_mutex_lock(&table->lock);
    if (table->n_more == table->room) {
        size_t room = table->room ? table->room * 2 : 16;
        struct live_handle *wider = realloc(table->more, room * sizeof *wider);
        if (wider) {
            table->more = wider;
            table->room = room;
        }
        result = wider ? 0 : -1;
    }
    if (result == 0) {
        table->more[table->n_more] = (struct live_handle){key, value};
        __atomic_store_n(&table->n_more, table->n_more + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&table->lock);
    errno = saved_errno;
    return result;
}

/* Returns the oldest entry of the handle in the list, and takes it out unless it `stays`; NULL if there is none. */
static void *find_behind(struct live_table *table, uint64_t key, int stays)
{
    void *value = NULL;
    if (__atomic_load_n(&table->n_more, __ATOMIC_RELAXED) == 0)
        return NULL;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->n_more && !value; i++) {
        if (table->more[i].key == key) {
            value = table->more[i].value;
            if (stays)
                break;
            memmove(&table->more[i], &table->more[i + 1], (table->n_more - i - 1) * sizeof *table->more);
            __atomic_store_n(&table->n_more, table->n_more - 1, __ATOMIC_RELAXED);
        }
    }
    pthread_mutex_unlock(&table->lock);
    return value;
}

int live_table_put(struct live_table *table, uint64_t key, void *value)
{
    void *none = NULL;
    struct handle_slot *slot = make_first_segment(table) == 0 ? handle_table_add(&table->first, key) : NULL;
    if (!slot)
        return -1;
    if (__atomic_compare_exchange_n(&slot->value, &none, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return 0;
    return put_behind(table, key, value);
}

void *live_table_get_any(struct live_table *table, uint64_t key)
{
    for (struct handle_slot *slot = handle_table_find(&table->first, key); slot;
         slot = handle_table_next(&table->first, slot, key)) {
        void *value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE);
        if (value)
            return value;
    }
    return find_behind(table, key, 1);
}

void *live_table_take(struct live_table *table, uint64_t key)
{
    for (struct handle_slot *slot = handle_table_find(&table->first, key); slot;
         slot = handle_table_next(&table->first, slot, key)) {
        void *value = __atomic_exchange_n(&slot->value, NULL, __ATOMIC_ACQ_REL);
        if (value)
            return value;
    }
    return find_behind(table, key, 0);
}
